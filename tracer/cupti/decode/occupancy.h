// How full a kernel can make a multiprocessor: the warps that fit at once, as part of the most that
// it can hold. Registers, shared memory, warps and blocks limit them. The definition is that of the
// CUDA Programming Guide ("Occupancy"), with the limits that CUPTI gives for the device. An
// estimate: blocks that are not there or end early are not seen.
#pragma once

#include <cstdint>

namespace stepscope::tracer {

/// Limits of one multiprocessor.
struct MultiprocessorLimits {
  uint32_t warps = 0, blocks = 0, registers = 0, shared_memory_bytes = 0;
  uint32_t threads_per_warp = 32;
  uint32_t compute_capability_major = 0;
};

struct BlockNeeds {
  uint32_t threads = 0, registers_per_thread = 0, shared_memory_bytes = 0;
  uint32_t shared_memory_carveout_bytes =
      0;  ///< what the driver gave the multiprocessor for this kernel; 0 = not known
};

/// 1 to 100; 0 = not known, or the block does not fit.
uint8_t occupancy_percent(MultiprocessorLimits const& limits, BlockNeeds const& block);

}  // namespace stepscope::tracer
