// Device memory over time from the memory calls of all host threads (DEFINITIONS, "Memory"). A call
// takes effect at its end. Bytes whose purpose was not recorded (allocated before the capture
// began) count as `other`.
#pragma once

#include "analyzer/metrics/core/device_ops.h"

namespace stepscope::analyzer {

/// What the memory calls of one device did, in the order in which they took effect. The vectors are
/// beside each other.
struct MemoryHistory {
  static constexpr uint32_t kNever = UINT32_MAX, kNoBlock = UINT32_MAX - 1;

  int32_t device = 0;
  std::vector<MemoryStats::Point> timeline;  ///< after each call
  std::vector<uint32_t> rows;                ///< the call
  std::vector<uint32_t> freed_by;  ///< the index of the call that freed what this one allocated;
                                   ///< kNever; kNoBlock = allocated nothing
  std::vector<uint64_t>
      largest_gaps;  ///< after each of the first calls, as far as gaps are known (memory_gaps.h)
  std::vector<int64_t>
      retries;  ///< instants of allocations for which cached memory was given back first
};

struct ProcessMemory {
  std::vector<MemoryHistory> devices;  ///< by device
  std::vector<int64_t> pinning;  ///< instants of calls that page-lock or release memory of the host
};

/// The memory calls of one process; O(events + calls log calls).
ProcessMemory memory_of_process(model::RankTrace const& rank);

/// The stats of a device. With `window` they cover what was there at its begin, and every call that
/// took effect in it. Without, the device's timeline is moved out of `memory`. `steps`: host ranges
/// of the measured steps, by time, disjoint.
MemoryStats memory_facts(DeviceOps const& device, ProcessMemory& memory,
                         std::optional<Interval> window, std::vector<Interval> const& steps);

}  // namespace stepscope::analyzer
