// Events whose times cannot be: far from all others of their trace.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model/event_batch.h"

namespace stepscope::model {

/// Leaves out events of all tracks whose begin or end is an outlier; returns how many. An outlier
/// lies more than a day, and more than a thousand times the length of the rest, away from the rest.
/// A time of 0 among epoch times is one. A 32nd of all events, each within a day of the next, is
/// never an outlier. The exception is when all of them claim one time: they have lost theirs. O(n).
uint64_t leave_out_timestamp_outliers(std::vector<std::vector<EventBatch>>& tracks);

}  // namespace stepscope::model
