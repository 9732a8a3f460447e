#include "analyzer/rules/communication/hung_search.h"

#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "trace/model/group_details.h"

namespace stepscope::analyzer {
namespace {

using model::CollectiveDetail;
using model::CollectiveState;
using model::EventKind;
using model::Interval;

/// A call hangs when it waits so many times longer than any completed one did. The longest of some
/// thousand is exceeded by chance now and then, but not by so much.
constexpr int64_t kTimesLongest = 5;
/// … and longer than a host that is well may pause: garbage collection, the scheduler, memory that
/// is touched first.
constexpr int64_t kLeastHangNs = 20'000'000;

bool is_much_longer(int64_t wait_ns, int64_t longest_ns) {
  return wait_ns > kLeastHangNs && wait_ns / kTimesLongest > longest_ns;
}

/// A rank's recording, on the run's clock.
struct Recording {
  int64_t end = 0;
  int64_t begin = INT64_MAX;          ///< of its first call
  std::optional<int64_t> longest_ns;  ///< of its completed calls; nothing when none is
};

/// What a rank's recording has of a communicator.
struct CallSpan {
  uint64_t last = 0,
           completed = 0;  ///< the highest sequence numbers: of all calls, and of completed ones
  int64_t last_call = INT64_MIN;  ///< when the last call was made
  int32_t rank = -1;              ///< in the communicator
};

bool tells_states(model::Trace const& trace) {
  auto const details = trace.details<CollectiveDetail>();
  return std::any_of(details.begin(), details.end(), [](CollectiveDetail const& detail) {
    return detail.state != CollectiveState::kUnknown;
  });
}

/// A dump may hold active calls alone, and none of a rank that makes no more.
bool tells_groups(model::Trace const& trace) {
  std::string const prefix = model::group_ranks_fact("");
  auto const& facts = trace.info().facts;
  return std::any_of(facts.begin(), facts.end(),
                     [&](auto const& fact) { return fact.first.starts_with(prefix); });
}

/// Whether the recording says if the call is over.
bool records_end(CollectiveDetail const& detail) {
  return detail.state != CollectiveState::kCalled;
}

/// Messages have no number that their two ends share.
bool is_numbered(CollectiveDetail const& detail) {
  bool const is_message = model::is_point_to_point(detail.op);
  return detail.state != CollectiveState::kUnknown && detail.communicator != 0 &&
         detail.sequence != 0 && !is_message;
}

/// Which ranks call something else than most: none where no call is that of more than half of them.
void compare_calls(Hung& hung) {
  using Kind = std::tuple<model::CollectiveOp, uint64_t, model::DataType>;
  std::map<Kind, std::vector<int32_t>> ranks_of;
  size_t unsized = 0;  // of these it is not known whether they agree
  for (HungCall const& call : hung.calls) {
    bool const is_sized = model::collective_op_info(call.detail.op).has_one_size;
    if (is_sized &&
        (call.detail.bytes == 0 || call.detail.data_type == model::DataType::kUnknown)) {
      ++unsized;
      continue;
    }

    Kind const kind = is_sized ? Kind{call.detail.op, call.detail.bytes, call.detail.data_type}
                               : Kind{call.detail.op, 0, model::DataType::kUnknown};
    ranks_of[kind].push_back(call.rank_index);
  }
  hung.is_mixed = hung.differs() || ranks_of.size() > 1;
  if (!hung.is_mixed) return;

  if (unsized > 0) {
    ranks_of.clear();
    for (HungCall const& call : hung.calls)
      ranks_of[{call.detail.op, 0, {}}].push_back(call.rank_index);
  }

  auto const by_count = [](auto const& a, auto const& b) {
    return a.second.size() < b.second.size();
  };
  auto const most = std::max_element(ranks_of.begin(), ranks_of.end(), by_count);
  if (2 * most->second.size() <= hung.calls.size()) return;

  for (auto const& [kind, ranks] : ranks_of)
    if (kind != most->first) hung.odd.insert(hung.odd.end(), ranks.begin(), ranks.end());
  std::sort(hung.odd.begin(), hung.odd.end());
}

/// A call that all ranks made starts on each when its stream gets there: what one of them never
/// started, the others wait for.
void find_not_started(Hung& hung) {
  auto const has = [&](CollectiveState state) {
    return std::any_of(hung.calls.begin(), hung.calls.end(),
                       [&](HungCall const& call) { return call.detail.state == state; });
  };
  if (!hung.not_called.empty() || hung.is_done_by_some() || !has(CollectiveState::kStarted)) return;
  for (HungCall const& call : hung.calls)
    if (call.detail.state == CollectiveState::kEnqueued)
      hung.not_started.push_back(call.rank_index);
}

class HungCollectives {
 public:
  explicit HungCollectives(model::Run const& run) : run_(run) {
    for (size_t r = 0; r < run.ranks.size(); ++r) {
      model::RankTrace const& rank = run.ranks[r];
      if (tells_states(rank.trace) || tells_groups(rank.trace))
        recordings_.emplace(static_cast<int32_t>(r),
                            Recording{rank.trace.time_range().second + rank.offset_ns});
    }
  }

  /// What hangs, one a communicator.
  std::vector<Hung> find() {
    see_spans();
    find_lowest();
    if (lowest_.empty()) return {};
    collect_calls();

    std::vector<Hung> found;
    for (auto& [communicator, pending] : lowest_) {
      Hung hung = examine({communicator, pending.lowest}, std::move(pending.calls));
      hung.numbers = pending.numbers.size();
      if (hung.severity()) found.push_back(std::move(hung));
    }
    return found;
  }

 private:
  /// The operations of a communicator that have not completed.
  struct Pending {
    uint64_t lowest = UINT64_MAX;
    std::set<uint64_t> numbers;
    std::vector<HungCall> calls;  ///< of the lowest
    std::unordered_map<uint64_t, Interval>
        completed;  ///< numbers before it: from the first rank's call to the last one's
  };

  template <class Visit>
  void for_each_call(Visit&& visit) const {
    for (auto const& [r, recording] : recordings_) {
      model::RankTrace const& rank = run_.ranks[static_cast<size_t>(r)];
      for (uint32_t row = 0; row < rank.trace.event_count(); ++row) {
        if (rank.trace.kind(row) != EventKind::kCollectiveCall) continue;

        auto const& detail = rank.trace.detail<CollectiveDetail>(row);
        if (is_numbered(detail))
          visit(HungCall{
              r,
              row,
              detail,
              {rank.trace.start(row) + rank.offset_ns, rank.trace.end(row) + rank.offset_ns}});
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

      Recording& recording = recordings_.at(call.rank_index);
      recording.begin = std::min(recording.begin, call.when.begin);
      if (!is_completed(detail)) return;
      span.completed = std::max(span.completed, detail.sequence);
      recording.longest_ns =
          std::max(recording.longest_ns.value_or(0), call.when.end - call.when.begin);
    });

    for (auto const& [communicator, spans] : spans_) {
      uint64_t& lowest = called_by_all_.try_emplace(communicator, UINT64_MAX).first->second;
      for (auto const& [rank, span] : spans) lowest = std::min(lowest, span.last);
    }
  }

  /// A communicator's operations run one after the other. A rank that completed one has finished
  /// all before it, whatever their entries say (PyTorch does not watch operations that a CUDA graph
  /// launches). If no entry records an end, an operation that all ranks have called is over.
  [[nodiscard]] bool is_over(HungCall const& call) const {
    CollectiveDetail const& detail = call.detail;
    if (records_end(detail))
      return is_completed(detail) ||
             detail.sequence < spans_.at(detail.communicator).at(call.rank_index).completed;
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
        if (pending.calls.empty() || pending.calls.back().rank_index != call.rank_index)
          pending.calls.push_back(call);
      } else if (call.detail.sequence < pending.lowest) {
        int64_t const at = call.when.begin;
        Interval& callers =
            pending.completed.try_emplace(call.detail.sequence, Interval{at, at}).first->second;
        callers = {std::min(callers.begin, at), std::max(callers.end, at)};
      }
    });
  }

  Hung examine(HungKey key, std::vector<HungCall> calls) const {
    Hung hung;
    hung.key = key;
    hung.calls = std::move(calls);
    uint32_t participants = 0;
    for (HungCall const& call : hung.calls)
      participants = std::max(participants, call.detail.participants);
    Members const group = members_of(hung);
    hung.group = group.name;
    // A group of all ranks that are recorded: who has no call of it has made none.
    bool const has_all = participants == recordings_.size();

    std::map<int32_t, CallSpan> const& spans = spans_.at(key.first);
    uint64_t completed = 0, first_missing = key.second;
    for (auto const& [r, recording] : recordings_) {
      auto const span = spans.find(r);
      if (span != spans.end()) completed = std::max(completed, span->second.completed);
      Place const place = place_of(hung, group, r, has_all);
      if (place == Place::kPast) hung.past.push_back(r);
      if (place != Place::kMissing) continue;
      hung.not_called.push_back(r);
      first_missing = std::min(first_missing, span != spans.end() ? span->second.last + 1 : 1);
    }
    if (!has_all || !group.ranks.empty()) find_unrecorded(hung, group, participants);
    compare_calls(hung);
    find_not_started(hung);
    hung.went_on = completed >= first_missing || !hung.past.empty() || goes_on_untold(hung);
    hung.is_overdue = is_overdue(hung);
    return hung;
  }

  /// What the recordings say of a communicator's members.
  struct Members {
    std::string name;            ///< "group 72 (EXPERT_MODEL_PARALLEL_GROUP)"
    std::string_view text;       ///< the fact that lists them
    std::vector<int32_t> ranks;  ///< in the job, in the group's order; empty = not known
    bool are_counts_good =
        false;  ///< what processes counted is of collectives alone, not of messages, too
  };
  [[nodiscard]] Members members_of(Hung const& hung) const {
    Members members;
    if (hung.calls.empty()) return members;
    HungCall const& call = hung.calls.front();
    model::Trace const& trace = trace_of(call.rank_index);
    members.name = model::group_of_calls(trace.track(call.row).name);
    if (members.name.empty()) return members;
    members.text = model::fact_of(trace.info(), model::group_ranks_fact(members.name));
    members.ranks = model::parse_group_ranks(members.text);

    std::map<int32_t, CallSpan> const& spans = spans_.at(hung.key.first);
    members.are_counts_good =
        std::all_of(hung.calls.begin(), hung.calls.end(), [&](HungCall const& each) {
          auto const counts =
              model::group_counts_of(trace_of(each.rank_index).info(), members.name);
          return counts && counts->called == spans.at(each.rank_index).last;
        });
    return members;
  }

  enum class Place : uint8_t {
    kOther,  ///< it waits, its entry is completed, or nothing is known
    kPast,
    kMissing
  };
  [[nodiscard]] Place place_of(Hung const& hung, Members const& group, int32_t r,
                               bool has_all) const {
    std::map<int32_t, CallSpan> const& spans = spans_.at(hung.key.first);
    auto const span = spans.find(r);
    bool const has_call = std::any_of(hung.calls.begin(), hung.calls.end(),
                                      [&](HungCall const& call) { return call.rank_index == r; });
    if (has_call) return Place::kOther;

    Recording const& recording = recordings_.at(r);
    bool const holds_active_alone = !recording.longest_ns;
    if (span != spans.end() && span->second.last >= hung.key.second) {
      // It made later calls. Where a dump holds what is active alone, this one is over.
      return holds_active_alone && records_ends(hung) ? Place::kPast : Place::kOther;
    }

    model::TraceInfo const& info = trace_of(r).info();
    bool const is_member = !group.text.empty() &&
                           model::fact_of(info, model::group_ranks_fact(group.name)) == group.text;
    if (is_member && group.are_counts_good)
      if (auto const counts = model::group_counts_of(info, group.name);
          counts && counts->called >= hung.key.second)
        return counts->completed >= hung.key.second ? Place::kPast : Place::kOther;

    if (span != spans.end() || has_all) return Place::kMissing;
    // Other recordings may have overwritten the calls of this group.
    bool const knows_that_time = holds_active_alone || recording.begin <= hung.first_call();
    return is_member && knows_that_time ? Place::kMissing : Place::kOther;
  }
  /// Whether the dump records the ends of the communicator's calls.
  [[nodiscard]] static bool records_ends(Hung const& hung) {
    return std::all_of(hung.calls.begin(), hung.calls.end(),
                       [](HungCall const& call) { return records_end(call.detail); });
  }

  /// The finding names a rank of the job only if the dump lists the group's members, or the group
  /// is numbered as the job is.
  void find_unrecorded(Hung& hung, Members const& group, uint32_t participants) const {
    std::map<int32_t, CallSpan> const& spans = spans_.at(hung.key.first);
    if (group.ranks.size() == participants && participants > 0) {
      std::set<int32_t> recorded;
      for (auto const& [r, recording] : recordings_) recorded.insert(trace_of(r).info().rank);
      for (int32_t const rank : group.ranks)
        if (!recorded.contains(rank)) hung.without_record.insert(rank);
      hung.count_without_record = hung.without_record.size();
      return;
    }

    std::set<int32_t> known;
    bool is_numbered_as_job = true;
    for (auto const& [r, span] : spans) {
      known.insert(span.rank);
      is_numbered_as_job = is_numbered_as_job && span.rank == trace_of(r).info().rank;
    }

    for (uint32_t place = 0; place < participants && hung.count_without_record < kMostNamedRanks;
         ++place) {
      if (known.contains(static_cast<int32_t>(place))) continue;
      ++hung.count_without_record;
      if (is_numbered_as_job) hung.without_record.insert(static_cast<int32_t>(place));
    }
  }
  [[nodiscard]] model::Trace const& trace_of(int32_t rank_index) const {
    return run_.ranks[static_cast<size_t>(rank_index)].trace;
  }

  /// How far apart the ranks' calls of one number were before.
  [[nodiscard]] int64_t furthest_apart(uint64_t communicator) const {
    int64_t furthest_ns = 0;
    for (auto const& [number, callers] : lowest_.at(communicator).completed)
      furthest_ns = std::max(furthest_ns, callers.end - callers.begin);
    return furthest_ns;
  }
  /// Used where no recording reports ends: the rank made later calls for so long that it cannot
  /// have waited in this one.
  [[nodiscard]] bool goes_on_untold(Hung const& hung) const {
    std::map<int32_t, CallSpan> const& spans = spans_.at(hung.key.first);
    return std::any_of(hung.calls.begin(), hung.calls.end(), [&](HungCall const& call) {
      int64_t const later = spans.at(call.rank_index).last_call - call.when.begin;
      return !records_end(call.detail) && is_much_longer(later, furthest_apart(hung.key.first));
    });
  }

  /// Compared with each recording's own end: recordings end at different times.
  [[nodiscard]] bool is_overdue(Hung const& hung) const {
    bool const waits = std::any_of(hung.calls.begin(), hung.calls.end(), [&](HungCall const& call) {
      Recording const& own = recordings_.at(call.rank_index);
      // Where none was completed yet there is nothing to go by: most often the first call of a job
      // is the one that hangs.
      return records_end(call.detail) && !is_completed(call.detail) &&
             (!own.longest_ns || is_much_longer(own.end - call.when.begin, *own.longest_ns));
    });

    if (waits) return true;
    // A rank that is missing: by how far ranks were behind each other before.
    int64_t const furthest_ns = furthest_apart(hung.key.first);
    return std::any_of(hung.not_called.begin(), hung.not_called.end(), [&](int32_t r) {
      return is_much_longer(recordings_.at(r).end - hung.first_call(), furthest_ns);
    });
  }

  model::Run const& run_;
  std::map<int32_t, Recording> recordings_;                ///< by rank index
  std::map<uint64_t, std::map<int32_t, CallSpan>> spans_;  ///< by communicator and rank index
  std::map<uint64_t, uint64_t>
      called_by_all_;  ///< by communicator: the highest number that all who called any have called
  std::map<uint64_t, Pending> lowest_;  ///< by communicator
};

}  // namespace

std::vector<Hung> find_hung_collectives(model::Run const& run) {
  return HungCollectives(run).find();
}

std::set<int32_t> waiting_in(Hung const& hung) {
  std::set<int32_t> waiting;
  for (HungCall const& call : hung.calls)
    if (!is_completed(call.detail)) waiting.insert(call.rank_index);
  return waiting;
}

}  // namespace stepscope::analyzer
