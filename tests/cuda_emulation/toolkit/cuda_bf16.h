// Stands for the CUDA toolkit's header of this name: conversions of bfloat16, as NVIDIA documents
// them. They round to nearest even; what is no number becomes 0x7FFF. bfloat16_test.cpp compares
// them with the toolkit's own where there is one.
#pragma once

#include <bit>
#include <cstdint>

struct __nv_bfloat16 {
  uint16_t bits;
};

inline uint16_t __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(uint16_t bits) { return {bits}; }
inline float __bfloat162float(__nv_bfloat16 x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16U);
}
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  if (x != x) return {0x7FFF};
  auto const bits = std::bit_cast<uint32_t>(x);
  uint32_t const is_odd = bits >> 16U & 1U;  // a tie goes to the even neighbour
  return {static_cast<uint16_t>((bits + 0x7FFFU + is_odd) >> 16U)};
}
