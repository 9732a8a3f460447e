#include "analyzer/rules/communication/hung_causes.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace stepscope::analyzer {
namespace {

using Edges = std::vector<std::vector<uint32_t>>;

/// Strongly connected parts of a graph, by node (Tarjan's algorithm, with a stack of its own:
/// chains may be long).
class ConnectedParts {
 public:
  explicit ConnectedParts(Edges const& edges)
      : edges_(edges),
        part_(edges.size(), kNone),
        number_(edges.size(), kNone),
        lowest_(edges.size()),
        next_(edges.size()) {
    for (uint32_t node = 0; node < edges.size(); ++node)
      if (number_[node] == kNone) visit(node);
  }

  [[nodiscard]] uint32_t of(uint32_t node) const { return part_[node]; }
  /// Whether no edge leaves a part, by part.
  [[nodiscard]] std::vector<bool> are_last() const {
    std::vector<bool> last(parts_, true);
    for (uint32_t node = 0; node < edges_.size(); ++node)
      for (uint32_t const to : edges_[node])
        if (part_[to] != part_[node]) last[part_[node]] = false;
    return last;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  void enter(uint32_t node) {
    number_[node] = lowest_[node] = count_++;
    path_.push_back(node);
    open_.push_back(node);
  }
  void leave(uint32_t node) {
    path_.pop_back();
    if (!path_.empty()) lowest_[path_.back()] = std::min(lowest_[path_.back()], lowest_[node]);
    if (lowest_[node] != number_[node]) return;

    uint32_t member = kNone;
    do {
      member = open_.back();
      open_.pop_back();
      part_[member] = parts_;
    } while (member != node);
    ++parts_;
  }
  void visit(uint32_t first) {
    enter(first);
    while (!path_.empty()) {
      uint32_t const node = path_.back();
      if (next_[node] == edges_[node].size()) {
        leave(node);
        continue;
      }

      uint32_t const to = edges_[node][next_[node]++];
      if (number_[to] == kNone) {
        enter(to);
      } else if (part_[to] == kNone) {
        lowest_[node] = std::min(lowest_[node], number_[to]);
      }
    }
  }

  Edges const& edges_;
  std::vector<uint32_t> part_, number_, lowest_;
  std::vector<size_t> next_;           ///< edges that were followed
  std::vector<uint32_t> path_, open_;  ///< nodes that are not left; nodes that have no part yet
  uint32_t count_ = 0, parts_ = 0;
};

/// Ranks of the job for which the others wait; empty if unknown.
std::set<int32_t> culprits_of(model::Run const& run, Hung const& hung) {
  std::set<int32_t> culprits;
  auto const add = [&](std::vector<int32_t> const& indices) {
    for (int32_t const index : indices)
      culprits.insert(run.ranks[static_cast<size_t>(index)].trace.info().rank);
  };
  add(hung.not_called);
  add(hung.odd);
  if (hung.is_mixed || !culprits.empty()) return culprits;

  if (hung.is_done_by_some()) {
    std::set<int32_t> const waiting = waiting_in(hung);
    add({waiting.begin(), waiting.end()});
  }
  if (culprits.empty()) add(hung.not_started);
  if (culprits.empty()) culprits = hung.without_record;
  return culprits;
}

/// Nodes: the suspects, then the ranks. A suspect leads to its culprits, a rank to the suspects in
/// which it waits for others.
struct WaitGraph {
  Edges edges;
  std::map<int32_t, uint32_t> node_of;  ///< by rank

  explicit WaitGraph(std::vector<Suspect> const& suspects) : edges(suspects.size()) {
    for (uint32_t s = 0; s < suspects.size(); ++s) {
      Suspect const& suspect = suspects[s];
      for (int32_t const rank : suspect.culprits) {
        uint32_t const to = node(rank);  // may move the edges
        edges[s].push_back(to);
      }
      for (int32_t const rank : suspect.waiting)
        if (suspect.has_cause() && !suspect.culprits.contains(rank)) edges[node(rank)].push_back(s);
    }
  }

 private:
  uint32_t node(int32_t rank) {
    auto const [place, is_new] = node_of.try_emplace(rank, static_cast<uint32_t>(edges.size()));
    if (is_new) edges.emplace_back();
    return place->second;
  }
};

/// A rank that waits in one collective cannot call another: it is a victim there. In a circle all
/// are causes.
void follow_culprits(std::vector<Suspect>& suspects) {
  WaitGraph const graph(suspects);
  ConnectedParts const parts(graph.edges);
  std::vector<bool> const is_last = parts.are_last();

  std::map<uint32_t, std::vector<HungKey>> members;
  for (uint32_t s = 0; s < suspects.size(); ++s)
    members[parts.of(s)].push_back(suspects[s].hung.key);
  for (uint32_t s = 0; s < suspects.size(); ++s) {
    Suspect& suspect = suspects[s];
    for (int32_t const rank : suspect.culprits) {
      uint32_t const node = graph.node_of.at(rank);
      if (is_last[parts.of(node)]) {
        suspect.causes.insert(rank);
      } else {
        suspect.victims.emplace(rank, suspects[graph.edges[node].front()].hung.key);
      }
    }
    std::vector<HungKey> const& part = members.at(parts.of(s));
    if (part.size() > 1 && is_last[parts.of(s)]) suspect.circle = part;
  }
}

/// Two collectives that all ranks have called hang when some call one first and some the other:
/// each blocks the stream or the device before the other. Where starts are not recorded the order
/// of the calls alone shows it.
void find_crossed_calls(std::vector<Suspect>& suspects) {
  constexpr size_t kMostCompared = 64;  // quadratic
  std::vector<Suspect*> all_called;
  for (Suspect& suspect : suspects) {
    bool const is_whole = !suspect.has_cause() && suspect.hung.count_without_record == 0;
    if (is_whole && suspect.hung.is_overdue && all_called.size() < kMostCompared)
      all_called.push_back(&suspect);
  }

  auto const are_crossed = [](Suspect const& a, Suspect const& b) {
    std::map<int32_t, int64_t> first;
    for (HungCall const& call : a.hung.calls) first.emplace(call.rank_index, call.when.begin);

    bool is_before = false, is_behind = false;
    for (HungCall const& call : b.hung.calls) {
      auto const other = first.find(call.rank_index);
      if (other == first.end()) continue;
      is_before = is_before || other->second < call.when.begin;
      is_behind = is_behind || other->second > call.when.begin;
    }
    return is_before && is_behind;
  };

  for (size_t a = 0; a < all_called.size(); ++a)
    for (size_t b = a + 1; b < all_called.size(); ++b) {
      bool const are_free = all_called[a]->circle.empty() && all_called[b]->circle.empty();
      if (!are_free || !are_crossed(*all_called[a], *all_called[b])) continue;
      all_called[a]->circle =
          all_called[b]->circle = {all_called[a]->hung.key, all_called[b]->hung.key};
    }
}

}  // namespace

std::vector<Suspect> find_suspects(model::Run const& run) {
  std::vector<Suspect> suspects;
  for (Hung& hung : find_hung_collectives(run)) {
    Suspect& suspect = suspects.emplace_back();
    suspect.hung = std::move(hung);
    suspect.culprits = culprits_of(run, suspect.hung);
    for (int32_t const index : waiting_in(suspect.hung))
      suspect.waiting.insert(run.ranks[static_cast<size_t>(index)].trace.info().rank);
  }

  follow_culprits(suspects);
  find_crossed_calls(suspects);
  return suspects;
}

}  // namespace stepscope::analyzer
