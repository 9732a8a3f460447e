// hung-collective: a collective that some ranks called had not ended when the recordings did. The one to look at: the first of
// which a rank is missing, does something else, or was done before the others; else the first of all. Of recordings that tell how
// far calls came (CollectiveState).
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

using model::CollectiveDetail;
using model::CollectiveState;
using model::EventKind;

/// Ranks are named until there are so many.
constexpr size_t kMostNamedRanks = 16;

/// Communicator and sequence.
using HungKey = std::pair<uint64_t, uint64_t>;

struct HungCall {
  int32_t rank_index = 0;
  uint32_t row = 0;
  CollectiveDetail detail;
  Interval when;
};

/// What a rank's recording has of a communicator.
struct CallSpan {
  uint64_t first = UINT64_MAX, last = 0;
  int32_t rank = -1;  ///< in the communicator
};

struct Hung {
  HungKey key;
  std::vector<HungCall> calls;       ///< one a rank, by rank index
  std::vector<int32_t> not_called;   ///< rank indices whose recordings have all before it, and not it
  std::set<int32_t> without_record;  ///< ranks of the communicator of which nothing is known
  [[nodiscard]] bool differs() const {
    return std::any_of(calls.begin(), calls.end(),
                       [&](HungCall const& call) { return call.detail.op != calls.front().detail.op; });
  }
  [[nodiscard]] size_t completed() const {
    return static_cast<size_t>(std::count_if(
        calls.begin(), calls.end(), [](HungCall const& call) { return call.detail.state == CollectiveState::kCompleted; }));
  }
  [[nodiscard]] bool has_culprit() const {
    return !not_called.empty() || !without_record.empty() || completed() > 0 || differs();
  }
  [[nodiscard]] int64_t first_call() const {
    int64_t first = INT64_MAX;
    for (HungCall const& call : calls) first = std::min(first, call.when.begin);
    return first;
  }
};

bool tells_states(model::Trace const& trace) {
  auto const details = trace.details<CollectiveDetail>();
  return std::any_of(details.begin(), details.end(),
                     [](CollectiveDetail const& detail) { return detail.state != CollectiveState::kUnknown; });
}

/// Messages have no number that their two ends share.
bool is_numbered(CollectiveDetail const& detail) {
  bool const is_message = detail.op == model::CollectiveOp::kSend || detail.op == model::CollectiveOp::kReceive;
  return detail.state != CollectiveState::kUnknown && detail.communicator != 0 && detail.sequence != 0 && !is_message;
}

class HungCollectives {
 public:
  explicit HungCollectives(model::Run const& run) : run_(run) {
    for (size_t r = 0; r < run.ranks.size(); ++r)
      if (tells_states(run.ranks[r].trace)) recorded_.push_back(static_cast<int32_t>(r));
    for_each_call([&](HungCall const& call) {
      if (call.detail.state != CollectiveState::kCompleted) calls_of_.try_emplace(key_of(call.detail));
    });
  }

  std::vector<Hung> find() {
    if (calls_of_.empty()) return {};
    for_each_call([&](HungCall const& call) {
      CollectiveDetail const& detail = call.detail;
      CallSpan& span = spans_[detail.communicator][call.rank_index];
      span.first = std::min(span.first, detail.sequence);
      span.last = std::max(span.last, detail.sequence);
      span.rank = detail.rank;
      auto const found = calls_of_.find(key_of(detail));
      if (found != calls_of_.end() && (found->second.empty() || found->second.back().rank_index != call.rank_index))
        found->second.push_back(call);
    });
    std::vector<Hung> all;
    for (auto& [key, calls] : calls_of_) all.push_back(examine(key, std::move(calls)));
    std::stable_sort(all.begin(), all.end(), [](Hung const& a, Hung const& b) {
      return std::tuple(!a.has_culprit(), a.first_call()) < std::tuple(!b.has_culprit(), b.first_call());
    });
    return all;
  }

 private:
  static HungKey key_of(CollectiveDetail const& detail) { return {detail.communicator, detail.sequence}; }

  template <class Visit>
  void for_each_call(Visit&& visit) const {
    for (int32_t const r : recorded_) {
      model::RankTrace const& rank = run_.ranks[static_cast<size_t>(r)];
      for (uint32_t row = 0; row < rank.trace.event_count(); ++row) {
        if (rank.trace.kind(row) != EventKind::kCollectiveCall) continue;
        auto const& detail = rank.trace.detail<CollectiveDetail>(row);
        if (is_numbered(detail))
          visit(HungCall{r, row, detail, {rank.trace.start(row) + rank.offset_ns, rank.trace.end(row) + rank.offset_ns}});
      }
    }
  }

  Hung examine(HungKey key, std::vector<HungCall> calls) const {
    Hung hung{key, std::move(calls), {}, {}};
    uint32_t participants = 0;
    for (HungCall const& call : hung.calls) participants = std::max(participants, call.detail.participants);
    std::map<int32_t, CallSpan> const& spans = spans_.at(key.first);
    // A group of all ranks that are recorded: who has no call of it has made none.
    bool const has_all = participants == recorded_.size();
    std::set<int32_t> known;
    for (int32_t const r : recorded_) {
      auto const span = spans.find(r);
      if (span == spans.end()) {
        if (has_all) hung.not_called.push_back(r);
        continue;
      }
      known.insert(span->second.rank);
      auto const call = std::lower_bound(hung.calls.begin(), hung.calls.end(), r,
                                         [](HungCall const& of, int32_t index) { return of.rank_index < index; });
      bool const has_call = call != hung.calls.end() && call->rank_index == r;
      if (!has_call && span->second.last < key.second) hung.not_called.push_back(r);
    }
    for (uint32_t rank = 0; !has_all && rank < participants && hung.without_record.size() < kMostNamedRanks; ++rank)
      if (!known.contains(static_cast<int32_t>(rank))) hung.without_record.insert(static_cast<int32_t>(rank));
    return hung;
  }

  model::Run const& run_;
  std::vector<int32_t> recorded_;  ///< rank indices
  std::map<HungKey, std::vector<HungCall>> calls_of_;
  std::map<uint64_t, std::map<int32_t, CallSpan>> spans_;  ///< by communicator and rank index
};

std::string named_ranks(std::vector<int32_t> const& ranks) {
  std::string text;
  for (size_t i = 0; i < std::min(ranks.size(), kMostNamedRanks); ++i) text += fmt::format("{}{}", i > 0 ? ", " : "", ranks[i]);
  return ranks.size() > kMostNamedRanks ? fmt::format("{} and {} more", text, ranks.size() - kMostNamedRanks) : text;
}

/// "all_reduce on 0, 1; all_gather on 2"; empty when all do the same.
std::string different_operations(model::Run const& run, Hung const& hung) {
  if (!hung.differs()) return {};
  std::map<model::CollectiveOp, std::vector<int32_t>> ranks_of;
  for (HungCall const& call : hung.calls)
    ranks_of[call.detail.op].push_back(run.ranks[static_cast<size_t>(call.rank_index)].trace.info().rank);
  std::string text;
  for (auto const& [op, ranks] : ranks_of)
    text += fmt::format("{}{} on {}", text.empty() ? "" : "; ", model::to_string(op), named_ranks(ranks));
  return text;
}

Finding describe_hung(model::Run const& run, Hung const& hung, size_t count) {
  Finding finding;
  finding.rule = "hung-collective";
  finding.severity = hung.has_culprit() ? Severity::kCritical : Severity::kWarning;
  auto const rank_of = [&](int32_t index) { return run.ranks[static_cast<size_t>(index)].trace.info().rank; };
  std::vector<int32_t> waiting, completed, missing;
  uint32_t participants = 0;
  for (HungCall const& call : hung.calls) {
    participants = std::max(participants, call.detail.participants);
    bool const is_done = call.detail.state == CollectiveState::kCompleted;
    (is_done ? completed : waiting).push_back(rank_of(call.rank_index));
    if (!is_done && finding.evidence.size() < kMaxEvidence)
      finding.evidence.push_back({{call.rank_index, 0},
                                  call.when,
                                  run.ranks[static_cast<size_t>(call.rank_index)].trace.columns().track[call.row].value});
  }
  for (int32_t const index : hung.not_called) missing.push_back(rank_of(index));
  finding.metrics = {{"sequence", static_cast<double>(hung.key.second)},
                     {"participants", static_cast<double>(participants)},
                     {"waiting_ranks", static_cast<double>(waiting.size())},
                     {"completed_ranks", static_cast<double>(completed.size())},
                     {"ranks_that_did_not_call", static_cast<double>(missing.size())},
                     {"ranks_without_recording", static_cast<double>(hung.without_record.size())},
                     {"hung_collectives", static_cast<double>(count)}};
  HungCall const& first = hung.calls.front();
  model::Trace const& trace = run.ranks[static_cast<size_t>(first.rank_index)].trace;
  finding.subjects = {{"op", model::to_string(first.detail.op)},
                      {"call", std::string(trace.name(first.row))},
                      {"calls", trace.track(first.row).name}};
  auto const add = [&](char const* role, std::string text) {
    if (!text.empty()) finding.subjects.emplace_back(role, std::move(text));
  };
  add("waiting", named_ranks(waiting));
  add("completed", named_ranks(completed));
  add("missing", named_ranks(missing));
  add("unrecorded", named_ranks({hung.without_record.begin(), hung.without_record.end()}));
  add("different", different_operations(run, hung));
  return finding;
}

}  // namespace

void find_hung_collective(RuleInput const& input, std::vector<Finding>& findings) {
  std::vector<Hung> const hung = HungCollectives(input.run).find();
  if (!hung.empty()) findings.push_back(describe_hung(input.run, hung.front(), hung.size()));
}

}  // namespace stepscope::analyzer
