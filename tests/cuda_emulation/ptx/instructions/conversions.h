// Instructions that convert numbers: PTX ISA, "cvt".
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tests/cuda_emulation/ptx/instructions/registers.h"

namespace stepscope::cuda_emulation::ptx {

template <class To, class From>
To cvt(std::type_identity_t<From> a) requires(std::integral<To>&& std::integral<From>) {
  return static_cast<To>(a);
}
/// A bfloat16 has the upper half of a float's bits.
template <class To, class From>
float cvt(uint16_t bits) requires(std::same_as<To, f32>&& std::same_as<From, bf16>) {
  return float_of(static_cast<uint32_t>(bits) << 16U);
}
/// To the nearest, to the even one of two: "cvt.rn.bf16.f32". A not-a-number is 0x7FFF.
template <class To, class From>
uint16_t cvt_rn(float a) requires std::same_as<To, bf16> {
  if (std::isnan(a)) return 0x7FFF;
  auto const bits = std::bit_cast<uint32_t>(a);
  return static_cast<uint16_t>((bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U);
}
template <class To, class From>
float cvt_rn(std::type_identity_t<From> a) requires(std::same_as<To, f32>&& std::integral<From>) {
  return static_cast<float>(a);
}
template <class To, class From>
float cvt_sat(float a) requires(std::same_as<To, f32>&& std::same_as<From, f32>) {
  return a > 0 ? std::min(a, 1.0F) : 0;
}
template <class To, class From>
float cvt_rni(float a) requires(std::same_as<To, f32>&& std::same_as<From, f32>) {
  return std::rint(a);
}
template <class To, class From>
float cvt_rmi(float a) requires(std::same_as<To, f32>&& std::same_as<From, f32>) {
  return std::floor(a);
}
template <class To, class From>
float cvt_rzi(float a) requires std::same_as<To, f32> {
  return std::trunc(a);
}
/// Beyond the integers, the nearest of them; a not-a-number is 0.
template <class To, class From>
To cvt_rzi(float a) requires std::integral<To> {
  using Limits = std::numeric_limits<To>;
  if (std::isnan(a)) return 0;
  if (a >= static_cast<float>(Limits::max())) return Limits::max();
  if (a <= static_cast<float>(Limits::min())) return Limits::min();
  return static_cast<To>(a);
}

}  // namespace stepscope::cuda_emulation::ptx
