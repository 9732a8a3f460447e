// Whether a series is of strong or of weak scaling: does a step do the same work however many
// devices there are, or does each device?
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analyzer/compare/run_sample.h"

namespace stepscope::analyzer {

enum class ScalingKind : uint8_t { kStrong, kWeak };
/// "strong", "weak".
char const* to_string(ScalingKind kind);

/// How the kind is known.
enum class KindEvidence : uint8_t { kAsked, kCopiedIn, kKernels };
/// "asked", "copied_in", "kernels".
char const* to_string(KindEvidence evidence);

/// Runs of each number of devices, fewest first.
using RunsByDevices = std::map<uint64_t, std::vector<RunMeasurements>>;

/// What was looked at: exponents of the number of devices by which work per device changes, 0 =
/// weak and -1 = strong scaling.
struct KindStats {
  std::optional<ScalingKind> kind;  ///< none: what was looked at says neither
  KindEvidence evidence = KindEvidence::kKernels;
  double exponent = 0;         ///< of the evidence
  double first = 0, last = 0;  ///< the evidence at the fewest and the most devices, per step and
                               ///< device: bytes, or ns of kernels
};

/// Bytes copied to the devices tell it where every device is fed: all numbers of devices must agree
/// within 10 %. Else the time of kernels per device does, by its exponent: they get slower a piece
/// when they get smaller, so strong scaling is -0.6 and less.
KindStats find_kind(RunsByDevices const& runs);

}  // namespace stepscope::analyzer
