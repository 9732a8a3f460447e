// What threads did where no device worked: the whole run's strip, and the time by range and thread
// in a part of it.
#pragma once

#include <stop_token>
#include <vector>

#include "viewer/queries/overview_strips.h"
#include "viewer/queries/range_statistics.h"
#include "viewer/scene/scene.h"

namespace stepscope::viewer {

/// Thread nodes of processes without a device whose events are in memory, busiest first.
std::vector<uint32_t> host_thread_nodes(Scene const& scene);

/// A line a thread: its outermost events, and over them what runs within, three levels deep.
/// O(threads × columns × log events).
void add_host_strips(Scene const& scene, OverviewStrips& strips, std::stop_token const& stop);

/// Fills threads and ops: own time by name of range. O(events in the range).
void add_host_statistics(Scene const& scene, int64_t begin, int64_t end, RangeStatistics& result,
                         std::stop_token const& stop);

}  // namespace stepscope::viewer
