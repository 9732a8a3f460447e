// What NVML's counters say about one device: clocks, power, temperature, throttling.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/results/device_ref.h"

namespace stepscope::analyzer {

/// Why a device holds its clock down: NVML's reasons that are neither idleness nor a setting.
enum class ClockLimit : uint8_t {
  kPowerCap,
  kHardware,
  kSyncBoost,
  kThermal,
  kPowerBrake,
  kUnknown
};
inline constexpr size_t kClockLimitCount = 6;
/// The JSON key: "power_cap", "thermal", …
char const* to_string(ClockLimit limit);

/// Counters of a device over its window (DEFINITIONS, "Device health"). Each sample is valid until
/// the next.
struct TelemetryStats {
  struct Spread {
    double min, median, max;  ///< by time
  };
  std::optional<Spread> sm_clock_mhz, memory_clock_mhz, power_w, temperature_c, utilization_percent;
  std::optional<double> busy_clock_mhz;  ///< median of the SM clock over the busy time
  std::optional<double>
      sustained_clock_mhz;  ///< its 95th percentile over the whole recording's busy time
  std::optional<double>
      clock_to_peers;  ///< busy_clock_mhz / median of that of the run's other devices of this name
  /// Busy time at less than 0.9 × sustained_clock_mhz, or under a limit of the clock; none without
  /// counters of either.
  std::optional<int64_t> throttled_ns;
  /// Part of the busy time, by ClockLimit; several may apply at once. None without a counter of
  /// limits.
  std::optional<std::array<int64_t, kClockLimitCount>> limited_ns;
  /// Duration of the same kernels at less than 0.9 × sustained_clock_mhz, relative to 0.95 × and
  /// more; none without both.
  std::optional<double> kernel_slowdown;
  struct SlowStep {
    Interval when;
    /// Σ compute time × (1 − clock / sustained clock) at low clock, at most what kernel_slowdown
    /// shows.
    int64_t lost_ns;
  };
  std::vector<SlowStep> slow_steps;  ///< steps (without any: the window) that lost time, by time
  std::vector<Interval>
      throttled;  ///< the longest busy spans of throttled_ns, at most kMaxEvidence
};

}  // namespace stepscope::analyzer
