// Registers of translated PTX. A register has the size that PTX declares. An instruction reads it
// as its own type, so that add<s32> and add<u32> differ as on a GPU.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include "tests/cuda_emulation/emulator.h"

// The emulator sets these for the thread that runs.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

namespace stepscope::cuda_emulation::ptx {

// NOLINTBEGIN(readability-identifier-naming): PTX's own names.
using pred = bool;
using b8 = uint8_t;
using b16 = uint16_t;
using b32 = uint32_t;
using b64 = uint64_t;
using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
using f32 = float;
struct bf16 {};  ///< a conversion's name for the bits in a register of 16
// NOLINTEND(readability-identifier-naming)

template <class T>
using Register = T;

inline float float_of(uint32_t bits) { return std::bit_cast<float>(bits); }

/// A value as an instruction's type reads it: the bits where one of both is a float and the other
/// is not, else the number, cut or extended.
template <class To, class From>
To as(From value) {
  if constexpr (std::floating_point<To> != std::floating_point<From>) {
    if constexpr (sizeof(To) == sizeof(From)) return std::bit_cast<To>(value);
    return std::bit_cast<To>(static_cast<uint32_t>(value));  // an integer that the source spells
  } else {
    return static_cast<To>(value);
  }
}

template <class R, class T>
void set(R& target, T value) {
  target = as<R>(value);
}

// Special registers.

inline uint3 tid() { return threadIdx; }
inline dim3 ntid() { return blockDim; }
inline uint3 ctaid() { return blockIdx; }
inline dim3 nctaid() { return gridDim; }
inline uint64_t globaltimer() { return read_device_clock(); }

}  // namespace stepscope::cuda_emulation::ptx
