// What a colour says of how an op changed between two runs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stepscope::viewer {

/// From faster to slower; the last ones are no change.
enum class ChangeMark : uint8_t {
  kNone,  ///< coloured by class, as always
  kFasterHalf,
  kFasterFifth,
  kFasterTwentieth,
  kFaster,
  kSame,  ///< no change that counts
  kSlower,
  kSlowerTwentieth,
  kSlowerFifth,
  kSlowerHalf,
  kUnknown,   ///< unclear, or not compared
  kNew,       ///< only the new run has it
  kVanished,  ///< only the base has it
  kOther      ///< no device op: steps back
};
inline constexpr size_t kChangeMarkCount = 14;

}  // namespace stepscope::viewer
