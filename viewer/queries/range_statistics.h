// What happened in a range of time: on devices as their store adds it up, without devices on
// threads.
#pragma once

#include <stop_token>

#include "viewer/event_store/statistics.h"
#include "viewer/scene/scene.h"

namespace stepscope::viewer {

/// O(segments and device ops in the range). Told to stop, it returns what is there.
RangeStatistics range_statistics(Scene const& scene, TimeWindow range,
                                 std::stop_token const& stop = {});

}  // namespace stepscope::viewer
