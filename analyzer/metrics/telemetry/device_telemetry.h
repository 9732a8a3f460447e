// What counters say of a device: clocks, power, temperature, and how long it was throttled
// (DEFINITIONS, "Device health").
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "analyzer/metrics/core/device_ops.h"
#include "analyzer/metrics/time/device_time.h"

namespace stepscope::analyzer {

/// A clock below this share of the sustained one is throttled, not varying: boost clocks go up and
/// down by a few steps of 15 MHz.
inline constexpr double kLowClock = 0.9;

/// What a counter tells, by its name; its unit is read from the name as well.
struct CounterMeaning {
  enum class What : uint8_t { kSmClock, kMemoryClock, kLimits, kPower, kTemperature, kUtilization };
  What what;
  double scale = 1;      ///< × value = MHz, W, °C or per cent
  bool is_mean = false;  ///< over so long a time that peaks are lost
  bool is_mask = false;  ///< of kLimits: NVML's bits, else any value but 0 is a limit
};
inline constexpr size_t kCounterMeanings = 6;
/// Knows counters as Stepscope, Nsight Systems and others name them; none for any other name.
std::optional<CounterMeaning> meaning_of_counter(std::string_view name);

/// A counter track of a process that tells something of a device.
struct DeviceCounter {
  model::TrackId track;
  CounterMeaning meaning;
};
/// Indexed by CounterMeaning::What.
using DeviceCounters = std::array<std::optional<DeviceCounter>, kCounterMeanings>;
/// Chooses among several counters of one meaning: the device's own, not a mean, with most samples.
/// Parameters: `samples` of each track; `is_only_device` of the process, whose counters without a
/// device are then this one's.
DeviceCounters find_counters(std::span<model::Track const> tracks,
                             std::function<uint64_t(uint32_t track)> const& samples, int32_t device,
                             bool is_only_device);

/// `steps`: of the device, `window`: what facts are of. `is_only_device`: counters that name no
/// device are this one's. None without any counter of those above. O(samples log samples + ops).
std::optional<TelemetryStats> telemetry_of(DeviceOps const& device, DeviceSets const& sets,
                                           Interval window, std::vector<StepStats> const& steps,
                                           bool is_only_device);

/// Fills clock_to_peers. O(devices log devices).
void compare_clocks(std::vector<DeviceStats>& devices);

}  // namespace stepscope::analyzer
