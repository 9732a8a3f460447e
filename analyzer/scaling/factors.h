// Which factor of the parallel efficiency is lost (DEFINITIONS, "Scaling"; POP and TALP): load
// balance, communication, orchestration, and whether the same work takes as much compute time on
// more devices.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/compare/run_sample.h"

namespace stepscope::analyzer {

enum class ScalingFactor : uint8_t { kLoadBalance, kCommunication, kOrchestration, kComputation };
inline constexpr size_t kScalingFactorCount = 4;
/// "load_balance", "comm_eff", "orchestration", "computation".
char const* to_string(ScalingFactor factor);

/// Per step of the job, means over the runs of one number of devices.
struct DeviceTimes {
  double useful_ns = 0;       ///< computing: mean over the devices
  double most_useful_ns = 0;  ///< of the device that computes most
  double most_active_ns = 0;  ///< of the device that is busy most
  double elapsed_ns = 0;      ///< the step
};
/// Each run has a step and a device.
DeviceTimes device_times(std::vector<RunMeasurements> const& runs);

struct ScalingFactors {
  /// Σ useful/(n · max useful), max useful/max active, max active/elapsed; 1 where there is nothing
  /// to divide by. The factor of computation is the compute time that the work takes at the fewest
  /// devices over that it takes here.
  std::array<double, kScalingFactorCount> by_factor{1, 1, 1, 1};
  double parallel = 0;  ///< load balance × communication × orchestration = useful/elapsed
  [[nodiscard]] double of(ScalingFactor factor) const {
    return by_factor[static_cast<size_t>(factor)];
  }
  /// Against those of the fewest devices: what these get done of what as many should.
  [[nodiscard]] double efficiency_over(ScalingFactors const& first) const {
    return parallel * of(ScalingFactor::kComputation) / first.parallel;
  }
};
/// `ideal`: what a device's work is of that at the fewest devices, whose times are `base`.
ScalingFactors scaling_factors(DeviceTimes const& times, DeviceTimes const& base, double ideal);

/// Scaling is broken where the efficiency is less by so much than at the fewest devices. Runs of
/// one program vary by 1 to 2 %. A cost below a twentieth of all devices is seldom the reason to
/// stop adding some.
inline constexpr double kBrokenShare = 0.05;

struct FactorBreak {
  ScalingFactor factor = ScalingFactor::kLoadBalance;
  size_t point = 0;             ///< index: the fewest devices at which scaling is broken
  double before = 1, here = 1;  ///< at the fewest devices of all, and at the point
};
/// The factor that has lost the largest share where scaling breaks. The factors' ratios multiply to
/// the efficiency, so there is one; while it holds, a factor that falls is made up for by another.
/// None where scaling holds.
std::optional<FactorBreak> first_break(std::span<ScalingFactors const> points);

}  // namespace stepscope::analyzer
