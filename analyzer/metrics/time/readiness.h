// What could have run beside communication and copies (DEFINITIONS, "Device time"): when communication was all that a device
// could do, as no other op was ready; and when compute would have hidden it, had the host launched it.
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
#include <vector>

#include "analyzer/metrics/time/device_time.h"

namespace stepscope::analyzer {

/// A time in which nothing but its launch held an op that computes.
struct LateLaunch {
  Interval when;
  uint32_t row;
};

/// When a collective could have begun, but for what was before it on its stream: its launch call had ended and what its stream
/// was told to wait for was over.
struct ReadyCollective {
  int64_t begin;  ///< when it did
  uint32_t track;
  int64_t ready;  ///< ≤ begin
  friend auto operator<=>(ReadyCollective const&, ReadyCollective const&) = default;
};

/// Nothing can be known where the device works on several streams, and the recording tells of none what it waited for.
struct Readiness {
  std::optional<model::IntervalSet> blocking_comm;  ///< the part of the exposed communication in which nothing else was ready
  std::vector<LateLaunch> late_launches;            ///< parts of exposed communication and copies, by time, disjoint
  std::vector<ReadyCollective> collectives;         ///< ascending
};

/// O(ops + waits · log ops).
Readiness find_readiness(DeviceOps const& device, DeviceSets const& sets);

}  // namespace stepscope::analyzer
