// When communication is all that a device could do: exposed communication while no other op was ready (DEFINITIONS, "Device
// time").
//
// An op is ready from the instant at which its launch call has ended, the op before it on its stream is over, and so is all that
// the events stand for that its stream was told to wait for before it. From then until it starts it could run. Counted are ops
// that compute or copy: communication that waits for other communication hides nothing. An op of which it is not known when it
// was ready counts as ready when it starts: without a launch in the trace, or a node of a CUDA graph.
//
// What a stream waited for is known from its stream waits. A wait that names its call and the call that recorded the event
// (CUPTI, Kineto, Nsight) holds what was launched behind it until what had been launched on the source stream before the event is
// over; any other is the time in which the stream was held.
#pragma once

#include <optional>

#include "analyzer/facts/run_index.h"

namespace stepscope::analyzer {

/// The part of `exposed_comm` (of this device) in which nothing else was ready. None where it cannot be known: the device works
/// on several streams, and the recording tells of none what it waited for. O(ops + waits · log ops).
std::optional<model::IntervalSet> find_blocking_comm(DeviceIndex const& device, model::IntervalSet const& exposed_comm);

}  // namespace stepscope::analyzer
