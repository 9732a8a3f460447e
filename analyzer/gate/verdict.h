// What a gate says.
#pragma once

#include <cstdint>

namespace stepscope::analyzer {

enum class GateVerdict : uint8_t { kPassed, kFailed, kUnclear };
/// "passed", "failed", "unclear".
char const* to_string(GateVerdict verdict);

/// The verdict of both together: failed if one is, else unclear if one is.
constexpr GateVerdict worse(GateVerdict a, GateVerdict b) {
  if (a == GateVerdict::kFailed || b == GateVerdict::kFailed) return GateVerdict::kFailed;
  return a == GateVerdict::kUnclear || b == GateVerdict::kUnclear ? GateVerdict::kUnclear
                                                                  : GateVerdict::kPassed;
}

}  // namespace stepscope::analyzer
