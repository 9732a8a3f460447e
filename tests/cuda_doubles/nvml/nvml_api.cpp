// The functions of libnvidia-ml.so.1 that tracer/nvml and doctor look up. Behaviour follows the
// comments of NVIDIA's nvml.h (docs.nvidia.com/deploy/nvml-api), named by function; structs are
// those of tracer/nvml/api.h. A function in DOUBLE_NVML_MISSING answers as a driver that is older
// than the library; one in DOUBLE_NVML_REFUSED answers NO_PERMISSION.
#include <algorithm>
#include <cstring>

#include "tests/cuda_doubles/nvml/machine.h"

namespace stepscope::cuda_doubles {
namespace {

using tracer::nvml::Device;
using tracer::nvml::FieldValue;
using tracer::nvml::GpmMetric;
using tracer::nvml::GpmMetrics;
using tracer::nvml::GpmSupport;
using tracer::nvml::kNotSupported;
using tracer::nvml::kSuccess;
using tracer::nvml::Memory;
using tracer::nvml::Result;
using tracer::nvml::Utilization;

constexpr unsigned kIdleMw = 70'000, kMwPerPercent = 6'000, kLimitMw = 700'000;
constexpr unsigned kIdleMhz = 345, kBusyMhz = 1'980, kMemoryMhz = 2'619;
constexpr unsigned kIdleCelsius = 35;
constexpr unsigned long long kIdleBit = 1;  // nvmlClocksEventReasonGpuIdle
constexpr unsigned kLinks = 4;              // up, where there are several GPUs

/// A call for one device: `answer(device)` when nothing stands against it.
template <class Answer>
Result call(char const* function, Device handle, Answer const& answer) {
  NvmlDevice* const device = nvml_machine().find(handle);
  Result const entered = nvml_machine().enter(function, device);
  if (entered != kSuccess) return entered;
  return device == nullptr ? kInvalidArgument : answer(*device);
}

/// What only a whole GPU tells: a MIG instance knows its name, its UUID and its memory ("Multi
/// Instance GPU Management").
template <class Answer>
Result call_of_gpu(char const* function, Device handle, Answer const& answer) {
  return call(function, handle, [&](NvmlDevice& device) {
    return device.is_instance ? Result{kNotSupported} : answer(device);
  });
}

Result one_number(char const* function, Device handle, unsigned* value, unsigned number) {
  return call_of_gpu(function, handle, [&](NvmlDevice&) { return *value = number, kSuccess; });
}

Result write(std::string const& from, char* text, unsigned room) {
  if (from.size() >= room) return kInsufficientSize;
  std::memcpy(text, from.c_str(), from.size() + 1);
  return kSuccess;
}

unsigned power_mw(NvmlDevice& device) {
  return kIdleMw + kMwPerPercent * NvmlMachine::utilization(device);
}

/// NVLink joins the GPUs of a machine that has several; no traffic goes over it.
bool has_links() { return nvml_machine().count() > 1; }

void read_field(NvmlDevice& device, FieldValue& field) {
  constexpr int kUnsigned = 1, kUnsignedLongLong = 3;  // nvmlValueType_t
  bool const is_link_total = field.field == tracer::nvml::kNvlinkSentKib ||
                             field.field == tracer::nvml::kNvlinkReceivedKib;
  field.result = kSuccess;
  field.value = 0;

  if (!device.is_instance && field.field == tracer::nvml::kMomentaryPowerMw) {
    field.value_type = kUnsigned;
    field.value = power_mw(device);
  } else if (!device.is_instance && is_link_total && has_links()) {
    field.value_type = kUnsignedLongLong;
  } else {
    field.result = kNotSupported;
  }
}

/// The load between two samples. Tensor cores are half as busy as the multiprocessors; links and
/// DRAM are not measured.
void read_metric(LoadSample const& before, LoadSample const& after, GpmMetric& metric) {
  constexpr double kMib = 1 << 20, kNsPerSecond = 1e9, kPercent = 100, kHalf = 0.5;
  auto const past_ns = static_cast<double>(std::max<int64_t>(after.at_ns - before.at_ns, 1));
  double const busy =
      std::min(kPercent, kPercent * static_cast<double>(after.busy_ns - before.busy_ns) / past_ns);
  auto const mib_per_second = [&](int64_t bytes) {
    return static_cast<double>(bytes) / kMib * kNsPerSecond / past_ns;
  };

  metric.result = kSuccess;
  switch (metric.metric) {
    case tracer::nvml::kGpmSmActivity:
      metric.value = busy;
      break;
    case tracer::nvml::kGpmTensorActivity:
      metric.value = kHalf * busy;
      break;
    case tracer::nvml::kGpmPcieSent:
      metric.value = mib_per_second(after.sent_bytes - before.sent_bytes);
      break;
    case tracer::nvml::kGpmPcieReceived:
      metric.value = mib_per_second(after.received_bytes - before.received_bytes);
      break;
    default:
      metric.result = kNotSupported;
  }
}

}  // namespace
}  // namespace stepscope::cuda_doubles

// NOLINTBEGIN(readability-identifier-naming): names of NVML.
using namespace stepscope::cuda_doubles;  // NOLINT(google-build-using-namespace)

#pragma GCC visibility push(default)
extern "C" {

Result nvmlInit_v2() { return nvml_machine().init(); }
Result nvmlShutdown() { return nvml_machine().shutdown(); }

// What doctor asks.
Result nvmlSystemGetNVMLVersion(char* text, unsigned room) {
  Result const entered = nvml_machine().enter("nvmlSystemGetNVMLVersion");
  return entered == kSuccess ? write("13.580.95.05", text, room) : entered;
}
Result nvmlSystemGetDriverVersion(char* text, unsigned room) {
  Result const entered = nvml_machine().enter("nvmlSystemGetDriverVersion");
  return entered == kSuccess ? write("580.95.05", text, room) : entered;
}
Result nvmlDeviceGetPersistenceMode(Device handle, int* is_on) {
  return call_of_gpu("nvmlDeviceGetPersistenceMode", handle,
                     [&](NvmlDevice&) { return *is_on = 1, kSuccess; });
}

Result nvmlDeviceGetCount_v2(unsigned* count) {
  Result const entered = nvml_machine().enter("nvmlDeviceGetCount_v2");
  if (entered == kSuccess) *count = nvml_machine().count();
  return entered;
}

Result nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  NvmlDevice* const found = nvml_machine().by_index(index);
  Result const entered = nvml_machine().enter("nvmlDeviceGetHandleByIndex_v2", found);
  if (entered != kSuccess) return entered;
  *device = found;
  return found == nullptr ? kInvalidArgument : kSuccess;
}

/// Takes the UUID of a MIG instance, too (nvmlDeviceGetHandleByUUID).
Result nvmlDeviceGetHandleByUUID(char const* uuid, Device* device) {
  NvmlDevice* const found = nvml_machine().find(std::string(uuid));
  Result const entered = nvml_machine().enter("nvmlDeviceGetHandleByUUID", found);
  if (entered != kSuccess) return entered;
  *device = found;
  return found == nullptr ? kNotFound : kSuccess;
}

Result nvmlDeviceGetName(Device handle, char* text, unsigned room) {
  return call("nvmlDeviceGetName", handle,
              [&](NvmlDevice&) { return write("Double of a GPU", text, room); });
}

Result nvmlDeviceGetUUID(Device handle, char* text, unsigned room) {
  return call("nvmlDeviceGetUUID", handle,
              [&](NvmlDevice& device) { return write(device.uuid, text, room); });
}

/// A link that the GPU does not have is an invalid argument (nvmlDeviceGetNvLinkState).
Result nvmlDeviceGetNvLinkState(Device handle, unsigned link, int* is_up) {
  return call_of_gpu("nvmlDeviceGetNvLinkState", handle, [&](NvmlDevice&) {
    if (!has_links()) return Result{kNotSupported};
    *is_up = 1;
    return link < kLinks ? kSuccess : kInvalidArgument;
  });
}

Result nvmlDeviceGetP2PStatus(Device from, Device to, int /*question*/, int* answer) {
  return call_of_gpu("nvmlDeviceGetP2PStatus", from, [&](NvmlDevice&) {
    *answer = from != to ? 0 : 1;
    return nvml_machine().find(to) == nullptr ? kInvalidArgument : kSuccess;
  });
}

// The slot: constant, slower than it could be.
Result nvmlDeviceGetCurrPcieLinkGeneration(Device handle, unsigned* value) {
  return one_number("nvmlDeviceGetCurrPcieLinkGeneration", handle, value, 4);
}
Result nvmlDeviceGetMaxPcieLinkGeneration(Device handle, unsigned* value) {
  return one_number("nvmlDeviceGetMaxPcieLinkGeneration", handle, value, 5);
}
Result nvmlDeviceGetCurrPcieLinkWidth(Device handle, unsigned* value) {
  return one_number("nvmlDeviceGetCurrPcieLinkWidth", handle, value, 16);
}
Result nvmlDeviceGetMaxPcieLinkWidth(Device handle, unsigned* value) {
  return one_number("nvmlDeviceGetMaxPcieLinkWidth", handle, value, 16);
}
Result nvmlDeviceGetEnforcedPowerLimit(Device handle, unsigned* value) {
  return one_number("nvmlDeviceGetEnforcedPowerLimit", handle, value, kLimitMw);
}

/// Not supported on GPUs with MIG (nvmlDeviceGetUtilizationRates). Memory is as busy as half of the
/// kernels.
Result nvmlDeviceGetUtilizationRates(Device handle, Utilization* rates) {
  return call_of_gpu("nvmlDeviceGetUtilizationRates", handle, [&](NvmlDevice& device) {
    rates->gpu = NvmlMachine::utilization(device);
    rates->memory = rates->gpu / 2;
    return kSuccess;
  });
}

Result nvmlDeviceGetMemoryInfo(Device handle, Memory* memory) {
  return call("nvmlDeviceGetMemoryInfo", handle, [&](NvmlDevice& device) {
    constexpr int64_t kUsual = 4096;
    memory->total = static_cast<unsigned long long>(number_of_knob("DOUBLE_CUDA_MEMORY_MB", kUsual))
                    << 20U;
    memory->used =
        static_cast<unsigned long long>(std::max<int64_t>(NvmlMachine::used_bytes(device), 0));
    memory->free = memory->total - std::min(memory->total, memory->used);
    return kSuccess;
  });
}

Result nvmlDeviceGetPowerUsage(Device handle, unsigned* power) {
  return call_of_gpu("nvmlDeviceGetPowerUsage", handle,
                     [&](NvmlDevice& device) { return *power = power_mw(device), kSuccess; });
}

Result nvmlDeviceGetClockInfo(Device handle, int clock, unsigned* value) {
  return call_of_gpu("nvmlDeviceGetClockInfo", handle, [&](NvmlDevice& device) {
    unsigned const sm_mhz = NvmlMachine::utilization(device) > 0 ? kBusyMhz : kIdleMhz;
    *value = clock == stepscope::tracer::nvml::kSmClock ? sm_mhz : kMemoryMhz;
    return kSuccess;
  });
}

/// DOUBLE_NVML_CLOCK_LIMITS: the bits while kernels run; none by default.
Result nvmlDeviceGetCurrentClocksEventReasons(Device handle, unsigned long long* reasons) {
  return call_of_gpu("nvmlDeviceGetCurrentClocksEventReasons", handle, [&](NvmlDevice& device) {
    auto const limits =
        static_cast<unsigned long long>(number_of_knob("DOUBLE_NVML_CLOCK_LIMITS", 0));
    *reasons = NvmlMachine::utilization(device) > 0 ? limits : kIdleBit;
    return kSuccess;
  });
}

Result nvmlDeviceGetTemperature(Device handle, int /*sensor*/, unsigned* value) {
  return call_of_gpu("nvmlDeviceGetTemperature", handle, [&](NvmlDevice& device) {
    *value = kIdleCelsius + NvmlMachine::utilization(device) / 2;
    return kSuccess;
  });
}

/// Each value has a result of its own (nvmlDeviceGetFieldValues).
Result nvmlDeviceGetFieldValues(Device handle, int count, FieldValue* values) {
  return call("nvmlDeviceGetFieldValues", handle, [&](NvmlDevice& device) {
    for (int i = 0; i < count; ++i) read_field(device, values[i]);
    return kSuccess;
  });
}

// GPU performance monitoring, of whole GPUs from Hopper on.

Result nvmlGpmQueryDeviceSupport(Device handle, GpmSupport* support) {
  return call("nvmlGpmQueryDeviceSupport", handle, [&](NvmlDevice& device) {
    support->is_supported = device.is_instance ? 0 : 1;
    return kSuccess;
  });
}

Result nvmlGpmSampleAlloc(void** sample) {
  Result const entered = nvml_machine().enter("nvmlGpmSampleAlloc");
  if (entered == kSuccess) *sample = new LoadSample;
  return entered;
}

Result nvmlGpmSampleFree(void* sample) {
  delete static_cast<LoadSample*>(sample);
  return kSuccess;
}

Result nvmlGpmSampleGet(Device handle, void* sample) {
  return call_of_gpu("nvmlGpmSampleGet", handle, [&](NvmlDevice& device) {
    *static_cast<LoadSample*>(sample) = NvmlMachine::load_of(device);
    return kSuccess;
  });
}

Result nvmlGpmMetricsGet(GpmMetrics* metrics) {
  Result const entered = nvml_machine().enter("nvmlGpmMetricsGet");
  if (entered != kSuccess) return entered;
  auto const* const before = static_cast<LoadSample const*>(metrics->before);
  auto const* const after = static_cast<LoadSample const*>(metrics->after);
  for (unsigned i = 0; i < metrics->count; ++i) read_metric(*before, *after, metrics->metrics[i]);
  return kSuccess;
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
