// What the host did in long gaps beside the one host event that explains each (IdleGap::host_row).
#pragma once

#include <vector>

#include "analyzer/results/device_stats.h"
#include "analyzer/results/idle_gaps.h"
#include "trace/model/run.h"

namespace stepscope::analyzer {

/// Late for longer, the host did not only launch: an op of a framework takes it up to some tens of
/// µs.
inline constexpr int64_t kLongGapNs = 1'000'000;

/// Of the kMostLongGaps longest gaps that late launches make: what ran for most of the time before
/// and after the host event that explains the gap, where that is a tenth of the gap or more. By
/// time. O(events of the threads), where there is such a gap.
std::vector<DeviceStats::HostWork> other_work_in_long_gaps(model::RankTrace const& rank,
                                                           std::vector<IdleGap> const& gaps);
inline constexpr size_t kMostLongGaps = 256;

}  // namespace stepscope::analyzer
