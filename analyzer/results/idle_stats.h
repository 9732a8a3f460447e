// Why a device was idle, and what its host did meanwhile.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/results/device_ref.h"

namespace stepscope::analyzer {

/// Why a device was idle, in the order in which causes are tried (DEFINITIONS, "Idle causes").
enum class IdleCause : uint8_t {
  kProfiler,
  kAllocation,
  kSync,
  kInput,
  kDependency,
  kPeer,
  kGraph,
  kLaunchBound,
  kLaunchLatency,
  kUnexplained
};
inline constexpr int kIdleCauseCount = 10;
/// The JSON key: "profiler", "launch_starved", …
char const* to_string(IdleCause cause);
using IdleSplit = std::array<int64_t, kIdleCauseCount>;

/// Idle time of cause kUnexplained, by what little is known about it.
struct UnexplainedStats {
  int64_t first_ns = 0;     ///< until the first recorded op: the trace has nothing before it
  int64_t queued_ns = 0;    ///< the next op had been launched, and no record says what it waits for
  int64_t other_ns = 0;     ///< the launch of the next op is not in the trace, or no op follows
  uint64_t queued_ops = 0;  ///< ops that had been launched when the longest part of queued_ns began
};

/// Idle time of one cause during which one host op ran for most of each gap.
struct HostOpStats {
  DeviceRef ref;
  IdleCause cause = IdleCause::kUnexplained;
  std::optional<std::string>
      host_op;         ///< none: no op was running (names = 0), or further ops together
  uint64_t names = 0;  ///< how many ops this row stands for
  uint64_t gaps = 0;   ///< gaps, or parts of gaps
  int64_t idle_ns = 0;
};

}  // namespace stepscope::analyzer
