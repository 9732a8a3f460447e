// A machine with two GPUs behind the seam to NVML: its values, errors and missing functions are the
// test's.
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
  int momentary_type = kUnsignedInt;
  uint64_t momentary_bits = 300'000;  ///< mW
  Result momentary_result = kSuccess;
  uint64_t nvlink_kib = 0;
  Result nvlink_result = kSuccess;
  int links = 2;
  std::string name = "NVIDIA H200";
  double sm_activity = 77.5;
  bool has_gpm = true;
  Result power_result = kSuccess;
  Result all_results = kSuccess;  ///< of every call, when it is not success
  int calls = 0, power_calls = 0;
};

/// What the functions of fake_api() answer from; one a program, as NVML's state is.
struct FakeMachine {
  std::array<FakeGpu, 2> gpus;
  std::array<std::string, 2> uuids = {"GPU-0102-first", "GPU-0304-second"};
  bool are_peers = true;
  int open_gpm_samples = 0, inits = 0, shutdowns = 0;
};
inline FakeMachine& machine() {
  static FakeMachine instance;
  return instance;
}

inline FakeGpu& gpu_of(Device device) {
  return machine().gpus.at(reinterpret_cast<uintptr_t>(device) - 1);
}
inline Result call(Device device) {
  ++gpu_of(device).calls;
  return gpu_of(device).all_results;
}
inline Result write(std::string const& from, char* text, unsigned room) {
  if (from.size() >= room) return 7;
  std::memcpy(text, from.c_str(), from.size() + 1);
  return kSuccess;
}
inline Device handle_of(unsigned index) { return reinterpret_cast<Device>(uintptr_t{index} + 1); }

inline void fake_devices(Api& api) {
  api.init = [] { return ++machine().inits, kSuccess; };
  api.shutdown = [] { return ++machine().shutdowns, kSuccess; };

  api.device_count = [](unsigned* count) { return *count = 2, kSuccess; };
  api.device_by_index = [](unsigned index, Device* device) {
    return *device = handle_of(index), kSuccess;
  };
  api.device_by_uuid = [](char const* uuid, Device* device) {
    for (unsigned i = 0; i < machine().uuids.size(); ++i)
      if (machine().uuids[i] == uuid) return *device = handle_of(i), kSuccess;
    return Result{6};
  };

  api.device_name = [](Device device, char* text, unsigned room) {
    return write(gpu_of(device).name, text, room);
  };
  api.device_uuid = [](Device device, char* text, unsigned room) {
    return write(machine().uuids.at(reinterpret_cast<uintptr_t>(device) - 1), text, room);
  };

  api.link_state = [](Device device, unsigned link, int* is_up) {
    return *is_up = 1, link < static_cast<unsigned>(gpu_of(device).links) ? kSuccess : Result{2};
  };
  api.peer_status = [](Device, Device, int question, int* answer) {
    return *answer = question == kPeerOverNvlink && machine().are_peers ? 0 : 1, kSuccess;
  };
}

inline void fake_surroundings(Api& api) {
  api.pcie_generation = [](Device, unsigned* value) { return *value = 4, kSuccess; };
  api.max_pcie_generation = [](Device, unsigned* value) { return *value = 5, kSuccess; };
  api.pcie_lanes = [](Device, unsigned* value) { return *value = 8, kSuccess; };
  api.max_pcie_lanes = [](Device, unsigned* value) { return *value = 16, kSuccess; };
  api.power_limit_mw = [](Device device, unsigned* value) {
    return *value = 700'000, gpu_of(device).power_result;
  };
}

inline void fake_counters(Api& api) {
  api.utilization = [](Device device, Utilization* rates) {
    return *rates = gpu_of(device).utilization, call(device);
  };
  api.memory = [](Device device, Memory* memory) { return memory->used = 3 << 20, call(device); };

  api.power_mw = [](Device device, unsigned* power) {
    ++gpu_of(device).power_calls;
    *power = gpu_of(device).power_mw;
    return gpu_of(device).power_result != kSuccess ? gpu_of(device).power_result : call(device);
  };

  api.clock_mhz = [](Device device, int clock, unsigned* value) {
    return *value = clock == kSmClock ? 1'980 : 2'619, call(device);
  };
  api.clock_limits = [](Device device, unsigned long long* reasons) {
    return *reasons = 1 | 4, call(device);
  };
  api.temperature_c = [](Device device, int /*sensor*/, unsigned* value) {
    return *value = 61, call(device);
  };

  api.fields = [](Device device, int /*count*/, FieldValue* values) {
    FakeGpu const& gpu = gpu_of(device);
    if (values->field == kMomentaryPowerMw) {
      values->value_type = gpu.momentary_type;
      values->value = gpu.momentary_bits;
      values->result = gpu.momentary_result;
    } else {
      values->value_type = kUnsignedLongLong;
      values->value = gpu.nvlink_kib;
      values->result = values->scope == kAllLinks ? gpu.nvlink_result : kNotSupported;
    }
    return call(device);
  };
}

inline void fake_hardware_counters(Api& api) {
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
    for (unsigned i = 0; i < metrics->count; ++i) {
      GpmMetric& metric = metrics->metrics[i];
      metric.value = metric.metric >= kGpmPcieSent ? 1'000 + metric.metric
                                                   : machine().gpus[0].sm_activity + metric.metric;
      if (metric.metric == kGpmDramBandwidth) metric.result = kNotSupported;
    }
    return kSuccess;
  };
}

inline Api fake_api() {
  Api api;
  fake_devices(api);
  fake_surroundings(api);
  fake_counters(api);
  fake_hardware_counters(api);
  return api;
}

}  // namespace stepscope::tracer::nvml
