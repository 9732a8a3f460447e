// Instructions on floats, and those that are the same for both kinds of numbers: PTX ISA, "Floating
// Point Instructions".
#pragma once

#include <cfenv>
#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

#include "tests/cuda_emulation/ptx/instructions/integers.h"
#include "tests/cuda_emulation/ptx/instructions/registers.h"

namespace stepscope::cuda_emulation::ptx {

template <class T>
T add(std::type_identity_t<T> a, std::type_identity_t<T> b) requires std::floating_point<T> {
  return a + b;
}
template <class T>
T sub(std::type_identity_t<T> a, std::type_identity_t<T> b) requires std::floating_point<T> {
  return a - b;
}
template <class T>
T neg(std::type_identity_t<T> a) {
  if constexpr (std::floating_point<T>) return -a;
  return sub<T>(0, a);
}
template <std::floating_point T>
T abs(std::same_as<T> auto a) {
  return std::fabs(a);
}
/// Beside a not-a-number, the number is the result.
template <class T>
T max(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  if constexpr (std::floating_point<T>) return std::fmax(a, b);
  return a > b ? a : b;
}
template <class T>
T min(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  if constexpr (std::floating_point<T>) return std::fmin(a, b);
  return a < b ? a : b;
}

// Floats.

/// The host rounds like that while this exists.
class Rounding {
 public:
  explicit Rounding(int mode) : before_(std::fegetround()) { std::fesetround(mode); }
  Rounding(Rounding const&) = delete;
  Rounding& operator=(Rounding const&) = delete;
  ~Rounding() { std::fesetround(before_); }

 private:
  int before_;
};

template <std::floating_point T>
T add_rn(T a, T b) {
  return a + b;
}
template <std::floating_point T>
T mul(T a, T b) {
  return a * b;
}
template <std::floating_point T>
T mul_rn(T a, T b) {
  return a * b;
}
template <std::floating_point T>
T div_rn(T a, T b) {
  return a / b;
}
template <std::floating_point T>
T rcp_rn(T a) {
  return 1 / a;
}
template <std::floating_point T>
T sqrt_rn(T a) {
  return std::sqrt(a);
}
template <std::floating_point T>
T fma_rn(T a, T b, T c) {
  return std::fma(a, b, c);
}
// volatile: what rounds otherwise must not be computed ahead or later.
template <std::floating_point T>
T add_rz(T a, T b) {
  Rounding const rounding(FE_TOWARDZERO);
  T const volatile x = a, y = b;
  T const volatile sum = x + y;
  return sum;
}
template <std::floating_point T>
T fma_rm(T a, T b, T c) {
  Rounding const rounding(FE_DOWNWARD);
  T const volatile x = a, y = b, z = c;
  T const volatile result = std::fma(x, y, z);
  return result;
}
/// PTX: "copies the sign of a into b".
template <std::floating_point T>
T copysign(T a, T b) {
  return std::copysign(b, a);
}

/// The GPU's approximations are exact to 2 units in the last place; subnormal numbers are zero.
template <std::floating_point T>
T flushed(T a) {
  return std::fabs(a) < std::numeric_limits<T>::min() ? std::copysign(T{0}, a) : a;
}
template <std::floating_point T>
T ex2_approx_ftz(T a) {
  return flushed(std::exp2(flushed(a)));
}
template <std::floating_point T>
T rcp_approx_ftz(T a) {
  return flushed(1 / flushed(a));
}

}  // namespace stepscope::cuda_emulation::ptx
