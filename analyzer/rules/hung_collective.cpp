// hung-collective: a collective that some ranks called had not ended when the recordings did. Of a communicator only the lowest
// number is looked at that a rank had called and not completed: what was called behind it waits for it, however far ahead each
// host was. Recordings also end while all is well: a call hangs when it took much longer than calls took before. Of recordings
// that tell how far calls came (CollectiveState).
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

using model::CollectiveDetail;
using model::CollectiveState;
using model::EventKind;

/// Ranks are named until there are so many.
constexpr size_t kMostNamedRanks = 16;
/// A call hangs when it waits so many times longer than any completed one did. The longest of some thousand is exceeded by chance
/// now and then, but not by so much.
constexpr int64_t kTimesLongest = 5;
/// … and longer than a host that is well may pause: garbage collection, the scheduler, memory that is touched first.
constexpr int64_t kLeastHangNs = 20'000'000;

bool is_much_longer(int64_t wait_ns, int64_t longest_ns) {
  return wait_ns > kLeastHangNs && wait_ns / kTimesLongest > longest_ns;
}

/// Communicator and sequence.
using HungKey = std::pair<uint64_t, uint64_t>;

struct HungCall {
  int32_t rank_index = 0;
  uint32_t row = 0;
  CollectiveDetail detail;
  Interval when;
};

/// A rank's recording, on the run's clock.
struct Recording {
  int64_t end = 0;
  std::optional<int64_t> longest_ns;  ///< of its completed calls; nothing when none is
};

/// What a rank's recording has of a communicator.
struct CallSpan {
  uint64_t last = 0, completed = 0;  ///< the highest sequence numbers: of all calls, and of those that are completed
  int64_t last_call = INT64_MIN;     ///< when the last call was made
  int32_t rank = -1;                 ///< in the communicator
};

struct Hung {
  HungKey key;
  std::vector<HungCall> calls;       ///< one a rank, by rank index
  std::vector<int32_t> not_called;   ///< rank indices whose recordings have all before it, and not it
  std::set<int32_t> without_record;  ///< ranks of the communicator of which nothing is known
  bool went_on = false;              ///< a rank completed it, or what a rank that is missing in it had not called yet
  bool is_overdue = false;           ///< much longer than calls took before

  [[nodiscard]] bool differs() const {
    return std::any_of(calls.begin(), calls.end(),
                       [&](HungCall const& call) { return call.detail.op != calls.front().detail.op; });
  }
  [[nodiscard]] bool has_culprit() const { return !not_called.empty() || !without_record.empty() || went_on || differs(); }
  [[nodiscard]] int64_t first_call() const {
    int64_t first = INT64_MAX;
    for (HungCall const& call : calls) first = std::min(first, call.when.begin);
    return first;
  }
  /// Nothing when all may be well. A call that is not overdue may be under way, and one that went on elsewhere has ended since:
  /// the recordings are of different times. A rank that is missing where nothing went on is told nevertheless, as a warning:
  /// hosts that wait in a call that hangs often do nothing more that would tell for how long.
  [[nodiscard]] std::optional<Severity> severity() const {
    if (differs() || (is_overdue && has_culprit())) return Severity::kCritical;
    bool const may_hang = is_overdue || (has_culprit() && !went_on);
    return may_hang ? std::optional(Severity::kWarning) : std::nullopt;
  }
};

/// The one to look at, and how many hang with it.
struct HungFound {
  std::optional<Hung> first;
  size_t count = 0;
};

bool tells_states(model::Trace const& trace) {
  auto const details = trace.details<CollectiveDetail>();
  return std::any_of(details.begin(), details.end(),
                     [](CollectiveDetail const& detail) { return detail.state != CollectiveState::kUnknown; });
}

bool is_completed(CollectiveDetail const& detail) { return detail.state == CollectiveState::kCompleted; }
/// Whether the recording tells if it is over.
bool is_told(CollectiveDetail const& detail) { return detail.state != CollectiveState::kCalled; }

/// Messages have no number that their two ends share.
bool is_numbered(CollectiveDetail const& detail) {
  bool const is_message = detail.op == model::CollectiveOp::kSend || detail.op == model::CollectiveOp::kReceive;
  return detail.state != CollectiveState::kUnknown && detail.communicator != 0 && detail.sequence != 0 && !is_message;
}

class HungCollectives {
 public:
  explicit HungCollectives(model::Run const& run) : run_(run) {
    for (size_t r = 0; r < run.ranks.size(); ++r) {
      model::RankTrace const& rank = run.ranks[r];
      if (tells_states(rank.trace))
        recordings_.emplace(static_cast<int32_t>(r), Recording{rank.trace.time_range().second + rank.offset_ns, std::nullopt});
    }
  }

  HungFound find() {
    see_spans();
    find_lowest();
    if (lowest_.empty()) return {};
    collect_calls();
    HungFound found;
    std::tuple<int, bool, int64_t> best;
    for (auto& [communicator, pending] : lowest_) {
      Hung hung = examine({communicator, pending.lowest}, std::move(pending.calls));
      auto const severity = hung.severity();
      if (!severity) continue;
      found.count += pending.numbers.size();
      std::tuple const order(-static_cast<int>(*severity), !hung.has_culprit(), hung.first_call());
      if (found.first && best <= order) continue;
      best = order;
      found.first = std::move(hung);
    }
    return found;
  }

 private:
  /// What of a communicator is not completed.
  struct Pending {
    uint64_t lowest = UINT64_MAX;
    std::set<uint64_t> numbers;
    std::vector<HungCall> calls;                       ///< of the lowest
    std::unordered_map<uint64_t, Interval> completed;  ///< numbers before it: from the first rank's call to the last one's
  };

  template <class Visit>
  void for_each_call(Visit&& visit) const {
    for (auto const& [r, recording] : recordings_) {
      model::RankTrace const& rank = run_.ranks[static_cast<size_t>(r)];
      for (uint32_t row = 0; row < rank.trace.event_count(); ++row) {
        if (rank.trace.kind(row) != EventKind::kCollectiveCall) continue;
        auto const& detail = rank.trace.detail<CollectiveDetail>(row);
        if (is_numbered(detail))
          visit(HungCall{r, row, detail, {rank.trace.start(row) + rank.offset_ns, rank.trace.end(row) + rank.offset_ns}});
      }
    }
  }

  void see_spans() {
    for_each_call([&](HungCall const& call) {
      CollectiveDetail const& detail = call.detail;
      CallSpan& span = spans_[detail.communicator][call.rank_index];
      span.last = std::max(span.last, detail.sequence);
      span.last_call = std::max(span.last_call, call.when.begin);
      span.rank = detail.rank;
      if (!is_completed(detail)) return;
      span.completed = std::max(span.completed, detail.sequence);
      std::optional<int64_t>& longest = recordings_.at(call.rank_index).longest_ns;
      longest = std::max(longest.value_or(0), call.when.end - call.when.begin);
    });
    for (auto const& [communicator, spans] : spans_) {
      uint64_t& lowest = called_by_all_.try_emplace(communicator, UINT64_MAX).first->second;
      for (auto const& [rank, span] : spans) lowest = std::min(lowest, span.last);
    }
  }

  /// A communicator's operations run one after the other: what lies before one that the rank completed is over, whatever its
  /// entry says (nobody watches those that a CUDA graph launches). Where nobody tells of ends, what all ranks have called is
  /// over.
  [[nodiscard]] bool is_over(HungCall const& call) const {
    CollectiveDetail const& detail = call.detail;
    if (is_told(detail))
      return is_completed(detail) || detail.sequence < spans_.at(detail.communicator).at(call.rank_index).completed;
    return detail.sequence <= last_of_all(detail);
  }

  /// The highest number that all ranks have called that can be expected to.
  [[nodiscard]] uint64_t last_of_all(CollectiveDetail const& detail) const {
    std::map<int32_t, CallSpan> const& spans = spans_.at(detail.communicator);
    if (detail.participants == recordings_.size() && spans.size() < recordings_.size()) return 0;
    return called_by_all_.at(detail.communicator);
  }

  void find_lowest() {
    for_each_call([&](HungCall const& call) {
      CollectiveDetail const& detail = call.detail;
      if (is_over(call)) return;
      Pending& pending = lowest_[detail.communicator];
      pending.lowest = std::min(pending.lowest, detail.sequence);
      pending.numbers.insert(detail.sequence);
    });
  }

  void collect_calls() {
    for_each_call([&](HungCall call) {
      auto const found = lowest_.find(call.detail.communicator);
      if (found == lowest_.end()) return;
      Pending& pending = found->second;
      if (call.detail.sequence == pending.lowest) {
        if (is_over(call)) call.detail.state = CollectiveState::kCompleted;
        if (pending.calls.empty() || pending.calls.back().rank_index != call.rank_index) pending.calls.push_back(call);
      } else if (call.detail.sequence < pending.lowest) {
        int64_t const at = call.when.begin;
        Interval& callers = pending.completed.try_emplace(call.detail.sequence, Interval{at, at}).first->second;
        callers = {std::min(callers.begin, at), std::max(callers.end, at)};
      }
    });
  }

  Hung examine(HungKey key, std::vector<HungCall> calls) const {
    Hung hung{key, std::move(calls), {}, {}};
    uint32_t participants = 0;
    for (HungCall const& call : hung.calls) participants = std::max(participants, call.detail.participants);
    std::map<int32_t, CallSpan> const& spans = spans_.at(key.first);
    // A group of all ranks that are recorded: who has no call of it has made none.
    bool const has_all = participants == recordings_.size();
    std::set<int32_t> known;
    uint64_t completed = 0, first_missing = key.second;
    for (auto const& [r, recording] : recordings_) {
      auto const span = spans.find(r);
      if (span != spans.end()) {
        known.insert(span->second.rank);
        completed = std::max(completed, span->second.completed);
      }
      uint64_t const last = span != spans.end() ? span->second.last : has_all ? 0 : key.second;
      if (last >= key.second) continue;
      hung.not_called.push_back(r);
      first_missing = std::min(first_missing, last + 1);
    }
    for (uint32_t rank = 0; !has_all && rank < participants && hung.without_record.size() < kMostNamedRanks; ++rank)
      if (!known.contains(static_cast<int32_t>(rank))) hung.without_record.insert(static_cast<int32_t>(rank));
    hung.went_on = completed >= first_missing || goes_on_untold(hung);
    hung.is_overdue = is_overdue(hung);
    return hung;
  }

  /// How far apart the ranks' calls of one number were before.
  [[nodiscard]] int64_t furthest_apart(uint64_t communicator) const {
    int64_t furthest_ns = 0;
    for (auto const& [number, callers] : lowest_.at(communicator).completed)
      furthest_ns = std::max(furthest_ns, callers.end - callers.begin);
    return furthest_ns;
  }
  /// Where nobody tells of ends: a rank made calls behind it for so long that it cannot have waited in it.
  [[nodiscard]] bool goes_on_untold(Hung const& hung) const {
    std::map<int32_t, CallSpan> const& spans = spans_.at(hung.key.first);
    return std::any_of(hung.calls.begin(), hung.calls.end(), [&](HungCall const& call) {
      int64_t const later = spans.at(call.rank_index).last_call - call.when.begin;
      return !is_told(call.detail) && is_much_longer(later, furthest_apart(hung.key.first));
    });
  }

  /// By each recording's own end: recordings end at different times.
  [[nodiscard]] bool is_overdue(Hung const& hung) const {
    bool const waits = std::any_of(hung.calls.begin(), hung.calls.end(), [&](HungCall const& call) {
      Recording const& own = recordings_.at(call.rank_index);
      // Where none was completed yet there is nothing to go by: most often the first call of a job is the one that hangs.
      return is_told(call.detail) && !is_completed(call.detail) &&
             (!own.longest_ns || is_much_longer(own.end - call.when.begin, *own.longest_ns));
    });
    if (waits) return true;
    // A rank that is missing: by how far ranks were behind each other before.
    int64_t const furthest_ns = furthest_apart(hung.key.first);
    return std::any_of(hung.not_called.begin(), hung.not_called.end(),
                       [&](int32_t r) { return is_much_longer(recordings_.at(r).end - hung.first_call(), furthest_ns); });
  }

  model::Run const& run_;
  std::map<int32_t, Recording> recordings_;                ///< by rank index
  std::map<uint64_t, std::map<int32_t, CallSpan>> spans_;  ///< by communicator and rank index
  std::map<uint64_t, uint64_t> called_by_all_;  ///< by communicator: the highest number that all who called any have called
  std::map<uint64_t, Pending> lowest_;          ///< by communicator
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
  finding.severity = hung.severity().value_or(Severity::kInfo);
  auto const rank_of = [&](int32_t index) { return run.ranks[static_cast<size_t>(index)].trace.info().rank; };
  std::vector<int32_t> waiting, completed, missing;
  uint32_t participants = 0;
  for (HungCall const& call : hung.calls) {
    participants = std::max(participants, call.detail.participants);
    bool const is_done = is_completed(call.detail);
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
  HungFound const found = HungCollectives(input.run).find();
  if (found.first) findings.push_back(describe_hung(input.run, *found.first, found.count));
}

}  // namespace stepscope::analyzer
