// The stand-in for the toolkit's bfloat16 (toolkit/cuda_bf16.h) gives the bits that NVIDIA's own
// header gives on the host.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

#include <cuda_bf16.h>

// Both headers have the same names.
namespace stand_in {
#include "tests/cuda_emulation/toolkit/cuda_bf16.h"
}

namespace {

TEST(StandInBfloat16, RoundsAsTheToolkitsDoes) {
  // A step that is no multiple of 2¹⁶: every exponent and sign, ties, infinities, not a number.
  constexpr uint64_t kStep = 4093;
  for (uint64_t bits = 0; bits <= UINT32_MAX; bits += kStep) {
    auto const x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    uint16_t const ours = stand_in::__bfloat16_as_ushort(stand_in::__float2bfloat16_rn(x));
    ASSERT_EQ(ours, __bfloat16_as_ushort(__float2bfloat16_rn(x))) << bits;
  }

  for (uint64_t high = 0; high <= UINT16_MAX; ++high) {
    auto const tie = std::bit_cast<float>(static_cast<uint32_t>(high << 16U | 0x8000U));
    uint16_t const ours = stand_in::__bfloat16_as_ushort(stand_in::__float2bfloat16_rn(tie));
    ASSERT_EQ(ours, __bfloat16_as_ushort(__float2bfloat16_rn(tie))) << high;
  }
}

TEST(StandInBfloat16, WidensAsTheToolkitsDoes) {
  for (uint32_t bits = 0; bits <= UINT16_MAX; ++bits) {
    auto const half = static_cast<uint16_t>(bits);
    float const ours = stand_in::__bfloat162float(stand_in::__ushort_as_bfloat16(half));
    float const theirs = __bfloat162float(__ushort_as_bfloat16(half));
    ASSERT_EQ(std::bit_cast<uint32_t>(ours), std::bit_cast<uint32_t>(theirs)) << bits;
  }
}

}  // namespace
