// Work that could have run next to communication and copies (DEFINITIONS, "Device time"). First:
// when communication was all that a device could do, as no other op was ready. Second: when compute
// would have hidden it, had the host launched it.
//
// An op is ready once its launch call has ended, the op before it on its stream is over, and the
// work that its stream had to await is over. From then until it starts it could run. Only ops that
// compute or copy count: communication that waits for other communication hides nothing. An op
// counts as ready when it starts if its launch is not in the trace, or if it is a node of a CUDA
// graph.
//
// Stream waits show what a stream waited for. A wait that names its call and the call that recorded
// the event (CUPTI, Kineto, Nsight) holds the ops launched after it. It holds them until the ops
// launched on the source stream before the event are over. Any other wait is the time in which the
// stream was held.
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

/// When a collective could have begun, apart from earlier work on its stream. Its launch call had
/// ended, and all work was over for which its stream had to wait.
struct ReadyCollective {
  int64_t begin;  ///< when it began
  uint32_t track;
  int64_t ready;  ///< ≤ begin
  friend auto operator<=>(ReadyCollective const&, ReadyCollective const&) = default;
};

/// Empty where the device works on several streams and the recording has no stream waits.
struct Readiness {
  std::optional<model::IntervalSet>
      blocking_comm;  ///< the part of the exposed communication in which nothing else was ready
  std::vector<LateLaunch>
      late_launches;  ///< parts of exposed communication and copies, by time, disjoint
  std::vector<ReadyCollective> collectives;  ///< ascending
};

/// O(ops + waits · log ops).
Readiness find_readiness(DeviceOps const& device, DeviceSets const& sets);

}  // namespace stepscope::analyzer
