// Instructions on integers and bits: PTX ISA, "Integer Arithmetic Instructions", "Logic and Shift
// Instructions".
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tests/cuda_emulation/ptx/instructions/registers.h"

namespace stepscope::cuda_emulation::ptx {

template <class T>
using Unsigned = std::make_unsigned_t<T>;

/// Overflow goes round, for signed integers too.
template <class T>
T add(std::type_identity_t<T> a, std::type_identity_t<T> b) requires std::integral<T> {
  return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
}
template <class T>
T sub(std::type_identity_t<T> a, std::type_identity_t<T> b) requires std::integral<T> {
  return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
}
template <class T>
T mul_lo(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  return static_cast<T>(static_cast<Unsigned<T>>(a) * static_cast<Unsigned<T>>(b));
}
template <class T>
T mad_lo(std::type_identity_t<T> a, std::type_identity_t<T> b, std::type_identity_t<T> c) {
  return add<T>(mul_lo<T>(a, b), c);
}
/// The whole product of two integers of 32 bits.
template <class T>
auto mul_wide(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  return static_cast<Wide>(a) * static_cast<Wide>(b);
}
/// A division by zero traps, which the emulator says.
template <class T>
T div(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  return static_cast<T>(a / b);
}
template <class T>
T rem(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  return static_cast<T>(a % b);
}
template <class T>
T and_(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  return static_cast<T>(a & b);
}
template <class T>
T or_(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  return static_cast<T>(a | b);
}
template <class T>
T xor_(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  return static_cast<T>(a ^ b);
}
template <class T>
T not_(std::type_identity_t<T> a) {
  if constexpr (std::same_as<T, pred>) return !a;
  return static_cast<T>(~a);
}
/// A shift by more than all bits leaves none.
template <class T>
T shl(std::type_identity_t<T> a, uint32_t bits) {
  constexpr uint32_t kBits = std::numeric_limits<T>::digits;
  return bits >= kBits ? T{0} : static_cast<T>(a << bits);
}
template <class T>
T shr(std::type_identity_t<T> a, uint32_t bits) {
  constexpr uint32_t kLast = sizeof(T) * 8 - 1;
  if (bits > kLast && std::is_unsigned_v<T>) return 0;
  return static_cast<T>(a >> std::min(bits, kLast));
}

}  // namespace stepscope::cuda_emulation::ptx
