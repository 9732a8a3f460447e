// Reads what NVML says of some devices, once a call. Only devices that the process uses: CUDA_VISIBLE_DEVICES decides.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/nvml/api.h"

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
  kDramBandwidth
};
inline constexpr size_t kCounters = 15;
/// With its unit: "power (W)".
std::string_view name_of(Counter counter);

struct Sample {
  int32_t device = 0;  ///< as CUDA numbers it in this process
  Counter counter{};
  double value = 0;
  int64_t at_ns = 0;
};

/// A visible device: number of the machine's, or the UUID of a GPU or of a MIG instance.
struct DeviceName {
  std::optional<unsigned> index;
  std::string uuid;
};
/// What CUDA_VISIBLE_DEVICES says; null = not set, the first `count` devices. As CUDA does, ends at what is no device.
std::vector<DeviceName> visible_devices(char const* variable, unsigned count);

/// Used by one thread. Errors are answered by leaving out: what a device does not support is not asked for again, a device that
/// is lost neither.
class Sampler {
 public:
  /// NVML is initialized and its functions outlive the sampler.
  Sampler(Api const& api, std::vector<DeviceName> const& devices);
  ~Sampler();
  Sampler(Sampler const&) = delete;
  Sampler& operator=(Sampler const&) = delete;

  /// Adds the samples of all devices. `now_ns` counts in any steady clock; rates are those since the call before.
  void sample(int64_t now_ns, std::vector<Sample>& samples);
  /// Devices that answer.
  [[nodiscard]] size_t device_count() const { return devices_.size(); }

 private:
  struct Total {
    int64_t at_ns = -1;
    uint64_t kib = 0;
  };
  struct Sampled {
    Device handle = nullptr;
    int32_t number = 0;
    std::array<bool, kCounters> off{};
    bool lost = false;
    std::array<void*, 2> gpm{};  ///< the sample before and the newest; null = not supported
    bool has_gpm_before = false;
    std::array<Total, 2> nvlink{};
  };
  class Round;

  void open_gpm(Sampled& device) const;
  void sample_device(Sampled& device, bool slow, int64_t now_ns, std::vector<Sample>& samples);

  Api const& api_;
  std::vector<Sampled> devices_;
  size_t round_ = 0;
  GpmMetrics metrics_;
};

}  // namespace stepscope::tracer::nvml
