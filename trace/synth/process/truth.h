// The truth of a synthetic run, as the simulation knows it: how each step of a device was spent
// (docs/reference/DEFINITIONS.md, "Device time" and "Idle causes"). Times in ns of run time.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "trace/model/intervals.h"

namespace stepscope::synth {

/// The causes that occur in synthetic runs, in the order in which DEFINITIONS tries them.
enum class IdleCause : uint8_t {
  kAllocation,
  kSync,
  kInput,
  kDependency,
  kPeer,
  kLaunchBound,
  kLaunchLatency,
  kUnexplained
};
inline constexpr size_t kIdleCauseCount = 8;
/// "allocation", "sync", …: as `stepscope analyze --json` spells them.
std::string_view to_string(IdleCause cause);

/// A window's time: compute + exposed_comm + exposed_copy + Σ idle = its length.
struct TimeTruth {
  model::Interval window;
  int64_t busy_ns = 0, compute_ns = 0, comm_ns = 0, copy_ns = 0;
  int64_t exposed_comm_ns = 0, exposed_copy_ns = 0;
  int64_t exposed_wait_ns = 0;  ///< of exposed_comm_ns: waiting for peers
  std::array<int64_t, kIdleCauseCount> idle_ns{};
};

}  // namespace stepscope::synth
