#include "analyzer/whatif/replay/replay.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "analyzer/metrics/core/saturate.h"
#include "trace/base/huge_pages.h"

namespace stepscope::analyzer {
namespace {

/// More of them one does not read.
constexpr size_t kMostResiduals = 5;
/// A device that begins an op later than this for no reason was waiting for something that no
/// record tells.
constexpr int64_t kOwnDelay = 10'000;

int64_t whole_ns(double ns) {
  constexpr auto kMost = static_cast<double>(model::kMaxTime);
  return std::llround(std::clamp(ns, -kMost, kMost));
}

/// Sums along a path by class and name.
class PathSums {
 public:
  explicit PathSums(ReplayGraph const& graph) : graph_(graph), numbers_(graph.processes.size()) {}

  void add(ReplayNode const& node, PathClass path_class, int64_t ns) {
    if (ns <= 0) return;
    add_saturated(by_class_[static_cast<size_t>(path_class)], ns);
    add_saturated(sum_of(node).ns[static_cast<size_t>(path_class)], ns);
  }
  /// The lag of an edge to a node. Lags of collectives are differences of clocks.
  void add_delay(ReplayNode const& node, ReplayEdge edge, int64_t lag, int64_t typical) {
    if (edge == ReplayEdge::kCollective) return;
    if (edge == ReplayEdge::kHandover) return add(node, PathClass::kHost, lag);
    bool const is_unexplained = edge == ReplayEdge::kRoot || lag > kOwnDelay;
    add(node, is_unexplained ? PathClass::kUnexplained : PathClass::kLaunch, lag);

    if (lag == typical || edge == ReplayEdge::kRoot) return;
    NameSum& sum = sum_of(node);
    sum.path_class = node.path_class;
    sum.residual_ns += static_cast<double>(lag) - static_cast<double>(typical);
    ++sum.delays;
  }

  /// `step_ns`: what the classes of a step sum to. `steps`: on the path.
  [[nodiscard]] ReplayPath finish(double step_ns, uint64_t steps) const {
    ReplayPath path;
    int64_t total = 0;
    for (int64_t const ns : by_class_) add_saturated(total, ns);
    if (total <= 0) return path;

    for (size_t c = 0; c < by_class_.size(); ++c)
      path.of_step[c] = static_cast<int64_t>(static_cast<double>(by_class_[c]) * step_ns /
                                             static_cast<double>(total));
    auto const most = std::max_element(by_class_.begin(), by_class_.end());
    path.most = static_cast<PathClass>(most - by_class_.begin());
    path.most_name = name_with_most(path.most);
    path.residuals = largest_residuals(std::max<uint64_t>(steps, 1));
    return path;
  }

 private:
  /// What nodes of one name in one process have of the path.
  struct NameSum {
    std::string_view name;
    PathSplit ns{};
    PathClass path_class = PathClass::kUnexplained;  ///< of its ops
    double residual_ns = 0;
    uint64_t delays = 0;
  };

  NameSum& sum_of(ReplayNode const& node) {
    bool const has_name = node.row != kNoNode && node.kind != ReplayNodeKind::kTransfer;
    if (!has_name) return nameless_;

    model::Trace const& trace = graph_.processes[node.process].devices.front().trace();
    std::vector<uint32_t>& numbers = numbers_[node.process];
    if (numbers.empty()) numbers.assign(trace.strings().size(), kNoNode);
    uint32_t& number = numbers[trace.columns().name[node.row].value];
    if (number == kNoNode) {
      number = static_cast<uint32_t>(sums_.size());
      sums_.emplace_back().name = trace.name(node.row);
    }
    return sums_[number];
  }

  [[nodiscard]] std::string name_with_most(PathClass path_class) const {
    std::map<std::string_view, int64_t> by_name;
    for (NameSum const& sum : sums_)
      add_saturated(by_name[sum.name], sum.ns[static_cast<size_t>(path_class)]);

    auto const most =
        std::max_element(by_name.begin(), by_name.end(),
                         [](auto const& a, auto const& b) { return a.second < b.second; });
    return most == by_name.end() || most->second == 0 ? std::string() : std::string(most->first);
  }

  [[nodiscard]] std::vector<ReplayResidual> largest_residuals(uint64_t steps) const {
    std::map<std::pair<std::string_view, PathClass>, std::pair<double, uint64_t>> by_name;
    for (NameSum const& sum : sums_) {
      if (sum.delays == 0) continue;
      auto& [ns, count] = by_name[{sum.name, sum.path_class}];
      ns += sum.residual_ns;
      count += sum.delays;
    }

    std::vector<ReplayResidual> all;
    for (auto const& [key, of] : by_name)
      all.push_back({std::string(key.first), key.second,
                     whole_ns(of.first / static_cast<double>(steps)), of.second});
    std::stable_sort(all.begin(), all.end(), [](ReplayResidual const& a, ReplayResidual const& b) {
      return std::abs(a.ns) > std::abs(b.ns);
    });
    if (all.size() > kMostResiduals) all.resize(kMostResiduals);
    return all;
  }

  ReplayGraph const& graph_;
  PathSplit by_class_{};
  std::vector<std::vector<uint32_t>> numbers_;  ///< by process, by StringId: place among sums_
  std::vector<NameSum> sums_;
  NameSum nameless_;
};

/// The node at which a step of the last measured number ends last; none: 0.
uint32_t last_node(ReplayGraph const& graph, ReplayTimes const& times) {
  int64_t last_number = std::numeric_limits<int64_t>::min();
  uint32_t best = 0;
  for (size_t i = 0; i < graph.steps.size(); ++i) {
    ReplayStep const& step = graph.steps[i];
    if (!step.is_measured || step.step < last_number) continue;

    bool const is_later =
        step.step > last_number || best == 0 || times.step_end[i] > times.over[best];
    if (is_later) best = times.step_last[i];
    last_number = step.step;
  }
  return best;
}

/// The begin of the first measured step of any device.
int64_t first_begin(ReplayGraph const& graph, ReplayTimes const& times) {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (ReplayStep const& step : graph.steps)
    if (step.is_measured) first = std::min(first, begin_of_step(times, step));
  return first;
}

}  // namespace

ReplayTimes replay(ReplayGraph const& graph, std::span<int64_t const> own,
                   std::span<int64_t const> lag, std::span<uint32_t const> sources) {
  ReplayTimes times;
  base::reserve_long(times.over, graph.nodes.size());
  times.over.resize(graph.nodes.size());
  if (!times.over.empty()) times.over[0] = 0;
  times.step_end.assign(graph.steps.size(), std::numeric_limits<int64_t>::min() / 2);
  times.step_last.assign(graph.steps.size(), 0);
  uint32_t const* const source = sources.empty() ? graph.source.data() : sources.data();

  // Most nodes wait for the one before them: a register has its end sooner than memory.
  int64_t previous = times.over.empty() ? 0 : times.over[0];
  for (size_t node = 1; node < graph.nodes.size(); ++node) {
    int64_t over = std::numeric_limits<int64_t>::min() / 2;
    for (uint32_t e = graph.first_edge[node]; e < graph.first_edge[node + 1]; ++e) {
      int64_t const from = source[e] + 1 == node ? previous : times.over[source[e]];
      over = std::max(over, from + lag[e]);
    }
    over = std::min(std::min(over, model::kMaxTime) + own[node], model::kMaxTime);
    times.over[node] = previous = over;

    if (int32_t const step = graph.step_of_node[node]; step >= 0) {
      auto const place = static_cast<size_t>(step);
      if (over <= times.step_end[place]) continue;
      times.step_end[place] = over;
      times.step_last[place] = static_cast<uint32_t>(node);
    }
  }

  // A step whose ops all end within the step before has no length.
  for (size_t i = 0; i < graph.steps.size(); ++i) {
    int32_t const before = graph.steps[i].before;
    if (before < 0 || times.step_end[i] >= times.step_end[static_cast<size_t>(before)]) continue;
    times.step_end[i] = times.step_end[static_cast<size_t>(before)];
    times.step_last[i] = times.step_last[static_cast<size_t>(before)];
  }
  return times;
}

int64_t begin_of_step(ReplayTimes const& times, ReplayStep const& step) {
  if (step.before < 0) return step.when.begin;
  return times.step_end[static_cast<size_t>(step.before)] + step.lead_ns;
}

std::vector<double> step_lengths(ReplayGraph const& graph, ReplayTimes const& times) {
  std::vector<double> lengths;
  for (size_t i = 0; i < graph.steps.size(); ++i) {
    if (!graph.steps[i].is_measured) continue;
    int64_t const length = times.step_end[i] - begin_of_step(times, graph.steps[i]);
    lengths.push_back(static_cast<double>(std::max<int64_t>(length, 0)));
  }
  return lengths;
}

ReplayPath replay_path(ReplayGraph const& graph, ReplayWeights const& weights,
                       ReplayTimes const& times) {
  PathSums sums(graph);
  base::Column<uint32_t> const& source = weights.source.empty() ? graph.source : weights.source;
  int64_t const begin = first_begin(graph, times);

  for (uint32_t node = last_node(graph, times); node != 0 && times.over[node] > begin;) {
    ReplayNode const& at = graph.nodes[node];
    int64_t const ready = times.over[node] - weights.own[node];
    sums.add(at, at.path_class, times.over[node] - std::max(ready, begin));

    uint32_t binding = graph.first_edge[node];
    for (uint32_t e = binding; e < graph.first_edge[node + 1]; ++e)
      if (times.over[source[e]] + weights.lag[e] == ready) binding = e;
    uint32_t const from = source[binding];
    if (from != 0 && ready > begin)
      sums.add_delay(at, graph.edge_kind[binding], weights.lag[binding],
                     graph.typical_lag[binding]);
    node = from;
  }

  std::vector<double> const lengths = step_lengths(graph, times);
  double total = 0;
  for (double const length : lengths) total += length;
  std::set<int64_t> numbers;
  for (ReplayStep const& step : graph.steps)
    if (step.is_measured) numbers.insert(step.step);
  return sums.finish(lengths.empty() ? 0 : total / static_cast<double>(lengths.size()),
                     numbers.size());
}

}  // namespace stepscope::analyzer
