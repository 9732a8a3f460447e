// The GPUs as the driver's management library sees them. Their load is what the driver's double did
// in all processes (device/activity.h). Everything else is constant.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "tests/cuda_doubles/device/activity.h"
#include "tests/cuda_doubles/device/knobs.h"
#include "tracer/nvml/api.h"

namespace stepscope::cuda_doubles {

// nvmlReturn_t of NVIDIA's nvml.h, where tracer/nvml/api.h does not name them.
inline constexpr int kUninitialized = 1, kInvalidArgument = 2, kNotFound = 6, kInsufficientSize = 7;

/// One GPU or one MIG instance; a device of NVML is a pointer to it.
struct NvmlDevice {
  unsigned number = 0;  ///< as CUDA's double numbers it
  bool is_instance = false;
  std::string uuid;
  std::atomic<int64_t> calls{0};

  // The utilization of the last period.
  std::mutex mutex;
  int64_t at_ns = 0, busy_ns = 0;
  unsigned percent = 0;
};

/// What a device had done at a time; a sample of nvmlGpmSampleGet().
struct LoadSample {
  int64_t at_ns = 0, busy_ns = 0, received_bytes = 0, sent_bytes = 0;
};

class NvmlMachine {
 public:
  NvmlMachine();

  tracer::nvml::Result init();
  tracer::nvml::Result shutdown();

  /// Whether `function` may answer: kSuccess or the error that it returns. `device` may be null
  /// where the function has none. Takes the time that DOUBLE_NVML_DELAYS gives it.
  tracer::nvml::Result enter(char const* function, NvmlDevice* device = nullptr);
  [[nodiscard]] NvmlDevice* find(tracer::nvml::Device device);
  [[nodiscard]] NvmlDevice* find(std::string const& uuid);
  /// GPUs, without instances. Their indices follow the PCI bus: those of CUDA, unless
  /// DOUBLE_NVML_ORDER=reversed.
  [[nodiscard]] unsigned count() const { return count_; }
  [[nodiscard]] NvmlDevice* by_index(unsigned index);

  [[nodiscard]] static LoadSample load_of(NvmlDevice const& device);
  [[nodiscard]] static int64_t used_bytes(NvmlDevice const& device);
  /// Percent of the time in which kernels ran, over the last period.
  [[nodiscard]] static unsigned utilization(NvmlDevice& device);

 private:
  [[nodiscard]] bool is_lost(NvmlDevice& device) const;

  unsigned const count_;
  bool const has_instances_ = number_of_knob("DOUBLE_CUDA_MIG", 0) != 0;
  bool const is_reversed_ = knob_lists("DOUBLE_NVML_ORDER", "reversed");
  std::array<NvmlDevice, Activity::kMaxDevices> gpus_, instances_;
  std::atomic<int> inits_{0};
};

NvmlMachine& nvml_machine();

}  // namespace stepscope::cuda_doubles
