#include "tracer/cupti/decode/occupancy.h"

#include <algorithm>

namespace stepscope::tracer {
namespace {

// Since compute capability 3.0 registers are handed out to warps in units of 256. Shared memory is
// handed out to blocks in units of 256 bytes, 128 since 8.0, where each block also gives 1 KB to
// the system.
constexpr uint32_t kRegisterUnit = 256;
constexpr uint32_t kSharedUnit = 256, kAmpereSharedUnit = 128, kAmpereReservedShared = 1024;
constexpr uint32_t kAmpereMajor = 8;

uint32_t round_up(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }

uint32_t blocks_by_shared_memory(MultiprocessorLimits const& limits, BlockNeeds const& block) {
  bool const is_ampere = limits.compute_capability_major >= kAmpereMajor;
  uint32_t const wanted = block.shared_memory_bytes + (is_ampere ? kAmpereReservedShared : 0);
  uint32_t const bytes = round_up(wanted, is_ampere ? kAmpereSharedUnit : kSharedUnit);
  if (bytes == 0) return limits.blocks;
  uint32_t const carveout = block.shared_memory_carveout_bytes;
  uint32_t const there =
      carveout == 0 ? limits.shared_memory_bytes : std::min(carveout, limits.shared_memory_bytes);
  return there / bytes;
}

}  // namespace

uint8_t occupancy_percent(MultiprocessorLimits const& limits, BlockNeeds const& block) {
  if (limits.warps == 0 || limits.threads_per_warp == 0 || block.threads == 0) return 0;

  uint32_t const warps = (block.threads + limits.threads_per_warp - 1) / limits.threads_per_warp;
  uint32_t const registers_per_warp =
      round_up(block.registers_per_thread * limits.threads_per_warp, kRegisterUnit);

  uint32_t blocks = std::min(limits.blocks, limits.warps / warps);
  if (registers_per_warp != 0)
    blocks = std::min(blocks, limits.registers / registers_per_warp / warps);
  blocks = std::min(blocks, blocks_by_shared_memory(limits, block));

  return static_cast<uint8_t>(
      std::min<uint32_t>(100, (100 * blocks * warps + limits.warps / 2) / limits.warps));
}

}  // namespace stepscope::tracer
