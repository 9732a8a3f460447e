// Sums over a range of time of a run that is not in memory, as exact as for a run in memory. Every
// event of the range is visited, process by process, and none is kept.
#pragma once

#include <stop_token>
#include <vector>

#include "viewer/event_store/statistics.h"
#include "viewer/scene/scene.h"

namespace stepscope::viewer {

/// Ops in any order, all of them.
RangeStatistics statistics_of_files(Scene const& scene, TimeWindow range,
                                    std::stop_token const& stop);
/// The durations of the device ops that a histogram shows, unsorted.
std::vector<int64_t> durations_in_files(Scene const& scene, HistogramKey const& key,
                                        std::stop_token const& stop);

}  // namespace stepscope::viewer
