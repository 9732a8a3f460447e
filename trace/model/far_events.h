// Events whose times cannot be: far from all others of their trace.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model/event_batch.h"

namespace stepscope::model {

/// Leaves out, of all tracks, events that begin more than a day and more than a thousand times the length of the rest before or
/// behind the rest (all but the first and last 32nd); a time of 0 among epoch times is one. Returns how many. What there is in
/// numbers is never far. O(n).
uint64_t leave_out_far_events(std::vector<std::vector<EventBatch>>& tracks);

}  // namespace stepscope::model
