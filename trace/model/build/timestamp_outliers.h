// Events whose times cannot be: far from all others of their trace.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model/event_batch.h"

namespace stepscope::model {

/// Leaves out, of all tracks, events that begin more than a day and more than a thousand times the
/// length of the rest before or behind the rest, or last so far behind its begins; a time of 0
/// among epoch times is one. Returns how many. A 32nd of all events, each within a day of the next,
/// is never far, unless all of them claim one time: they have lost theirs. O(n).
uint64_t leave_out_timestamp_outliers(std::vector<std::vector<EventBatch>>& tracks);

}  // namespace stepscope::model
