// The handles that NCCL gets for its events and passes back: numbers, never addresses. So a handle
// can do no harm that is stale, unknown or of another process's plugin (a network thread may serve
// several of them).
#pragma once

#include <cstdint>

#include "tracer/nccl/network_table.h"

namespace stepscope::tracer::nccl {

enum class HandleType : uint8_t {
  kNone = 0,
  kPlan = 1,
  kCall = 2,
  kNetworkOp = 3,
  kNetworkStep = 4,
  kCallGroup = 5,    ///< of calls that the program makes
  kProgramCall = 6,  ///< one of them
  kLaunch = 7
};

// Bits: 0–3 type, 4–47 what it is, 48–63 the recorder's number.
inline constexpr unsigned kValueShift = 4, kRecorderShift = 48;
inline constexpr uint64_t kValueMask = (uint64_t{1} << (kRecorderShift - kValueShift)) - 1;
static_assert(Slot::kPlaceBits + Slot::kUseBits == kRecorderShift - kValueShift);

inline constexpr uint32_t kRecorderMask = 0xFFFF;

constexpr uint64_t make_handle(HandleType type, uint32_t recorder, uint64_t value) {
  return uint64_t{recorder & kRecorderMask} << kRecorderShift |
         (value & kValueMask) << kValueShift | static_cast<uint64_t>(type);
}
constexpr HandleType type_of(uint64_t handle) { return static_cast<HandleType>(handle & 0xF); }
constexpr uint32_t recorder_of(uint64_t handle) {
  return static_cast<uint32_t>(handle >> kRecorderShift);
}
constexpr uint64_t make_handle(HandleType type, uint32_t recorder, Slot slot) {
  return make_handle(type, recorder, uint64_t{slot.use} << Slot::kPlaceBits | slot.place);
}
constexpr Slot slot_of(uint64_t handle) {
  uint64_t const value = handle >> kValueShift & kValueMask;
  return {static_cast<uint32_t>(value & ((1U << Slot::kPlaceBits) - 1)),
          static_cast<uint32_t>(value >> Slot::kPlaceBits)};
}

}  // namespace stepscope::tracer::nccl
