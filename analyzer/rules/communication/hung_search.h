// Collectives that some ranks called and that had not ended when the recordings did: one a
// communicator, with what the recordings tell of its ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/results/analysis.h"
#include "trace/model/details.h"
#include "trace/model/intervals.h"
#include "trace/model/run.h"

namespace stepscope::analyzer {

/// Communicator and sequence.
using HungKey = std::pair<uint64_t, uint64_t>;

struct HungCall {
  int32_t rank_index = 0;
  uint32_t row = 0;
  model::CollectiveDetail detail;
  model::Interval when;
};

inline bool is_completed(model::CollectiveDetail const& detail) {
  return detail.state == model::CollectiveState::kCompleted;
}

/// Ranks are named until there are so many.
inline constexpr size_t kMostNamedRanks = 16;

struct Hung {
  HungKey key;
  std::vector<HungCall> calls;  ///< one a rank, by rank index
  std::vector<int32_t>
      not_called;  ///< rank indices whose recordings have all before it, and not it
  std::vector<int32_t>
      past;  ///< rank indices that are known to have completed it, though their entry of it is gone
  std::set<int32_t>
      without_record;  ///< ranks of the job, members of the communicator, without a recording
  size_t count_without_record = 0;  ///< with those whose number in the job is not known
  size_t numbers = 0;               ///< that are not completed
  std::string group;                ///< the communicator's name; empty where none is known
  std::vector<int32_t>
      not_started;  ///< rank indices whose streams never reached it, while those of others did
  std::vector<int32_t>
      odd;  ///< rank indices whose call is of another operation or size than most ranks'
  bool is_mixed = false;  ///< the calls are of different operations or sizes
  bool went_on =
      false;  ///< a rank completed it, or what a rank that is missing in it had not called yet
  bool is_overdue = false;  ///< much longer than calls took before

  [[nodiscard]] bool differs() const {
    return std::any_of(calls.begin(), calls.end(), [&](HungCall const& call) {
      return call.detail.op != calls.front().detail.op;
    });
  }
  [[nodiscard]] bool has_culprit() const {
    return !not_called.empty() || count_without_record > 0 || went_on || differs();
  }
  /// While a job is well, too, ranks start at different times.
  [[nodiscard]] bool has_culprit_if_overdue() const {
    return has_culprit() || !not_started.empty() || is_mixed;
  }
  [[nodiscard]] bool is_done_by_some() const {
    return !past.empty() || std::any_of(calls.begin(), calls.end(), [](HungCall const& call) {
      return is_completed(call.detail);
    });
  }
  [[nodiscard]] int64_t first_call() const {
    int64_t first = INT64_MAX;
    for (HungCall const& call : calls) first = std::min(first, call.when.begin);
    return first;
  }
  /// Nothing when all may be well. A call that is not overdue may be under way. One that went on
  /// elsewhere has ended since: the recordings are of different times. A missing rank is reported
  /// as a warning even if nothing went on. Hosts that wait in a hanging call often do nothing more
  /// that would show for how long.
  [[nodiscard]] std::optional<Severity> severity() const {
    if (differs() || (is_overdue && has_culprit_if_overdue())) return Severity::kCritical;
    bool const may_hang = is_overdue || ((has_culprit() || is_mixed) && !went_on);
    return may_hang ? std::optional(Severity::kWarning) : std::nullopt;
  }
};

/// What hangs, by communicator.
std::vector<Hung> find_hung_collectives(model::Run const& run);
/// Rank indices that wait in it.
std::set<int32_t> waiting_in(Hung const& hung);

}  // namespace stepscope::analyzer
