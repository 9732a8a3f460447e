// Which device made the others wait in collectives, and why.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/results/idle_stats.h"

namespace stepscope::analyzer {

/// What made a device come last to collectives (DEFINITIONS, "Waiting for peers").
enum class WaitCause : uint8_t {
  kCompute,
  kCommunication,
  kCopy,
  kIdle,
  kLateStart,        ///< its step had begun later already
  kBeforeRecording,  ///< likewise, and its step, or the device, is recorded from there on
  kUnknown
};
/// Waiting that one device caused in one way. The rows sum to the waits of all participants in
/// measured steps, to the ns.
struct WaitStats {
  DeviceRef ref;  ///< the one that was late
  WaitCause cause = WaitCause::kUnknown;
  IdleCause idle = IdleCause::kUnexplained;  ///< where the cause is kIdle
  std::string
      host_op;  ///< what its host was in meanwhile, where the host is the cause; hostile text
  int64_t gpu_ns = 0;        ///< device time that others waited
  int64_t exposed_ns = 0;    ///< of gpu_ns: no compute hides it
  uint64_t collectives = 0;  ///< in which others waited for this, or for what this delayed
};
/// The JSON key: "compute", "comm", "copy", "late_start", "before_recording", "unknown", or the key
/// of the idle cause.
char const* cause_of(WaitStats const& waits);

}  // namespace stepscope::analyzer
