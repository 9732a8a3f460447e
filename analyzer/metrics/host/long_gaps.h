// What else the host did in long gaps: IdleGap::host_row names one host event for each gap.
#pragma once

#include <vector>

#include "analyzer/results/device_stats.h"
#include "analyzer/results/idle_gaps.h"
#include "trace/model/run.h"

namespace stepscope::analyzer {

/// Late for longer, the host did not only launch: an op of a framework takes it up to some tens of
/// µs.
inline constexpr int64_t kLongGapNs = 1'000'000;

/// The host work before and after the named event of a gap, sorted by time. A part of the gap
/// counts from a tenth of its length on, and gets the event that ran for most of it. Only late
/// launches make such gaps, and only the kMostLongGaps longest are looked at. O(events of the
/// threads), where there is such a gap.
std::vector<DeviceStats::HostWork> other_work_in_long_gaps(model::RankTrace const& rank,
                                                           std::vector<IdleGap> const& gaps);
inline constexpr size_t kMostLongGaps = 256;

}  // namespace stepscope::analyzer
