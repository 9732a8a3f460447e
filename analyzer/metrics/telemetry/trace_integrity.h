// How far the run can be trusted: the faults that its traces counted, the ranks that are not there,
// and a score.
#pragma once

#include <cstdint>

#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// The score is 100 less, per kind of fault, the share of events that have it in per cent (at least
/// 1 point for any, at most kMaxPenalty), and fixed amounts for a trace that was cut off and for
/// missing ranks. 0 without any event.
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
