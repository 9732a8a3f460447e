// Reads what NVML says of some devices, once a call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/nvml/api.h"
#include "tracer/nvml/devices.h"

namespace stepscope::tracer::nvml {

enum class Counter : uint8_t {
  kGpuUtilization,
  kMemoryUtilization,
  kMemoryUsed,
  kPower,
  kSmClock,
  kMemoryClock,
  kClockLimits,
  kTemperature,
  kPcieSent,
  kPcieReceived,
  kNvlinkSent,
  kNvlinkReceived,
  kSmActivity,
  kTensorActivity,
  kDramBandwidth,
  kAveragePower  ///< where the momentary one is not told
};
inline constexpr size_t kCounters = 16;
/// With its unit: "power (W)".
std::string_view name_of(Counter counter);

struct Sample {
  int32_t device = 0;  ///< as CUDA numbers it in this process
  Counter counter{};
  double value = 0;
  int64_t at_ns = 0;
};

/// Used by one thread. Errors are answered by leaving out: what a device does not support or
/// refuses is not asked for again, a device that is lost neither. Asks nothing that waits:
/// throughput of PCIe is only told where hardware counters tell it.
class Sampler {
 public:
  /// NVML is initialized and its functions outlive the sampler.
  Sampler(Api const& api, std::span<OpenDevice const> devices);
  ~Sampler();
  Sampler(Sampler const&) = delete;
  Sampler& operator=(Sampler const&) = delete;

  /// Adds the samples of all devices. `now_ns` counts in any steady clock; rates are those since
  /// the call before.
  void sample(int64_t now_ns, std::vector<Sample>& samples);
  [[nodiscard]] size_t device_count() const { return devices_.size(); }
  /// All devices have hardware counters.
  [[nodiscard]] bool has_hardware_counters() const;
  /// Which devices were lost and which counters the driver refuses, for people; empty = none.
  [[nodiscard]] std::string describe_gaps() const;

 private:
  struct Total {
    int64_t at_ns = -1;
    uint64_t kib = 0;
  };
  struct Sampled {
    Device handle = nullptr;
    int32_t number = 0;
    std::array<bool, kCounters> off{}, refused{};
    bool lost = false;
    std::array<void*, 2> gpm{};  ///< the sample before and the newest; null = not supported
    bool has_gpm_before = false;
    bool has_link_totals = true;  ///< else hardware counters tell the throughput of links
    std::array<Total, 2> links{};
  };
  class Round;

  void open_gpm(Sampled& device) const;

  Api const& api_;
  std::vector<Sampled> devices_;
  GpmMetrics metrics_;
};

}  // namespace stepscope::tracer::nvml
