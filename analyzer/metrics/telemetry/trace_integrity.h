// How far the run can be trusted: the faults that its traces counted, the ranks that are not there,
// and a score.
#pragma once

#include <cstdint>

#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// The score is 100 less the penalties. A kind of fault costs the per cent of events that have it:
/// at least 1 point for any, at most kMaxPenalty. A trace that was cut off and missing ranks cost
/// fixed amounts. 0 without any event.
TraceIntegrity judge_trace_integrity(model::Run const& run);

/// How many ranks the job has, at least, and what tells it.
struct JobSize {
  enum class Source : uint8_t { kWorldSize, kCollectives, kHighestRank };
  int32_t ranks = 0;
  Source source = Source::kWorldSize;
};
/// The most that a trace says, its collectives have participants, or follows from its rank.
/// Collectives of processes with several devices tell nothing: their participants are devices.
JobSize job_size(model::Run const& run);

/// No single fault says alone that nothing can be believed.
inline constexpr int32_t kMaxPenalty = 40;
/// A trace that was cut off lacks its end, not its middle: little is lost.
inline constexpr int32_t kTruncatedPenalty = 5;
/// Every number across ranks (stragglers, waiting, bandwidth) may be wrong.
inline constexpr int32_t kMissingRanksPenalty = 20;

}  // namespace stepscope::analyzer
