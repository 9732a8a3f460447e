// Comparisons, and choices by them: PTX ISA, "Comparison and Selection Instructions". A comparison
// with a not-a-number is false; one with a `u` at the end is true.
#pragma once

#include <cmath>
#include <concepts>
#include <type_traits>

#include "tests/cuda_emulation/ptx/instructions/registers.h"

namespace stepscope::cuda_emulation::ptx {

template <class T>
pred setp_eq(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  return a == b;
}
template <class T>
pred setp_ne(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  if constexpr (std::floating_point<T>) return a < b || a > b;
  return a != b;
}
template <class T>
pred setp_lt(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  return a < b;
}
template <class T>
pred setp_le(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  return a <= b;
}
template <class T>
pred setp_gt(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  return a > b;
}
template <class T>
pred setp_ge(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  return a >= b;
}
template <class T>
pred setp_equ(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  return !setp_ne<T>(a, b);
}
template <class T>
pred setp_neu(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  return !(a == b);
}
template <class T>
pred setp_ltu(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  return !(a >= b);
}
template <class T>
pred setp_leu(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  return !(a > b);
}
template <class T>
pred setp_gtu(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  return !(a <= b);
}
template <class T>
pred setp_geu(std::type_identity_t<T> a, std::type_identity_t<T> b) {
  return !(a < b);
}
template <class T, class A, class B>
T selp(A a, B b, pred chosen) {
  return chosen ? as<T>(a) : as<T>(b);
}

}  // namespace stepscope::cuda_emulation::ptx
