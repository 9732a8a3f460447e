// A machine with two GPUs behind the seam to NVML: its values, errors and missing functions are the test's.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "tracer/nvml/api.h"

namespace stepscope::tracer::nvml {

struct FakeGpu {
  Utilization utilization{40, 20};
  unsigned power_mw = 250'000;
  uint64_t nvlink_kib = 0;
  double sm_activity = 77.5;
  bool has_gpm = true;
  Result power_result = kSuccess;
  Result all_results = kSuccess;  ///< of every call, when it is not success
  int calls = 0, power_calls = 0, pcie_calls = 0;
};

/// What the functions of fake_api() answer from; one a program, as NVML's state is.
struct FakeMachine {
  std::array<FakeGpu, 2> gpus;
  int open_gpm_samples = 0, inits = 0, shutdowns = 0;
};
inline FakeMachine& machine() {
  static FakeMachine instance;
  return instance;
}

inline FakeGpu& gpu_of(Device device) { return machine().gpus.at(reinterpret_cast<uintptr_t>(device) - 1); }
inline Result call(Device device) {
  ++gpu_of(device).calls;
  return gpu_of(device).all_results;
}
inline Device handle_of(unsigned index) { return reinterpret_cast<Device>(uintptr_t{index} + 1); }

inline Api fake_api() {
  Api api;
  api.init = [] { return ++machine().inits, kSuccess; };
  api.shutdown = [] { return ++machine().shutdowns, kSuccess; };
  api.device_count = [](unsigned* count) { return *count = 2, kSuccess; };
  api.device_by_index = [](unsigned index, Device* device) { return *device = handle_of(index), kSuccess; };
  api.device_by_uuid = [](char const* uuid, Device* device) {
    if (std::strcmp(uuid, "GPU-second") != 0) return Result{6};
    *device = handle_of(1);
    return kSuccess;
  };
  api.utilization = [](Device device, Utilization* rates) { return *rates = gpu_of(device).utilization, call(device); };
  api.memory = [](Device device, Memory* memory) { return memory->used = 3 << 20, call(device); };
  api.power_mw = [](Device device, unsigned* power) {
    ++gpu_of(device).power_calls;
    *power = gpu_of(device).power_mw;
    return gpu_of(device).power_result != kSuccess ? gpu_of(device).power_result : call(device);
  };
  api.clock_mhz = [](Device device, int clock, unsigned* value) {
    return *value = clock == kSmClock ? 1'980 : 2'619, call(device);
  };
  api.clock_limits = [](Device device, unsigned long long* reasons) { return *reasons = 1 | 4, call(device); };
  api.temperature_c = [](Device device, int /*sensor*/, unsigned* value) { return *value = 61, call(device); };
  api.pcie_kb_per_s = [](Device device, int counter, unsigned* value) {
    ++gpu_of(device).pcie_calls;
    return *value = counter == kPcieSent ? 5'000 : 7'000, call(device);
  };
  api.fields = [](Device device, int /*count*/, FieldValue* values) {
    values->value = gpu_of(device).nvlink_kib;
    values->result = values->scope == kAllLinks ? kSuccess : kNotSupported;
    return call(device);
  };
  api.gpm_support = [](Device device, GpmSupport* support) {
    return support->is_supported = gpu_of(device).has_gpm ? 1 : 0, call(device);
  };
  api.gpm_alloc = [](void** sample) {
    *sample = &machine().open_gpm_samples;
    return ++machine().open_gpm_samples, kSuccess;
  };
  api.gpm_free = [](void* /*sample*/) { return --machine().open_gpm_samples, kSuccess; };
  api.gpm_sample = [](Device device, void* /*sample*/) { return call(device); };
  api.gpm_metrics = [](GpmMetrics* metrics) {
    for (unsigned i = 0; i < metrics->count; ++i) metrics->metrics[i].value = machine().gpus[0].sm_activity + i;
    metrics->metrics[2].result = kNotSupported;
    return kSuccess;
  };
  return api;
}

}  // namespace stepscope::tracer::nvml
