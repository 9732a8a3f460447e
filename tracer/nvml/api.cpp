#include "tracer/nvml/api.h"

#include <dlfcn.h>

#include <algorithm>
#include <bit>

#include "trace/base/files/shared_library.h"

namespace stepscope::tracer::nvml {
namespace {

template <class Function>
void find(void* library, char const* name, Function*& function) {
  if (function == nullptr) function = reinterpret_cast<Function*>(::dlsym(library, name));
}

}  // namespace

uint64_t FieldValue::number() const {
  auto const not_negative = [](int64_t number) {
    return static_cast<uint64_t>(std::max<int64_t>(number, 0));
  };

  switch (value_type) {
    case kDouble: {
      constexpr double kMost = 0x1p63;  // a not-a-number is no number below it
      auto const number = std::bit_cast<double>(value);
      return number >= 0 && number < kMost ? static_cast<uint64_t>(number) : 0;
    }
    case kUnsignedInt:
      return static_cast<uint32_t>(value);
    case kUnsignedShort:
      return static_cast<uint16_t>(value);
    case kSignedInt:
      return not_negative(static_cast<int32_t>(value));
    case kSignedLongLong:
      return not_negative(static_cast<int64_t>(value));
    default:  // unsigned long (long)
      return value;
  }
}

base::Expected<Api> load_api() {
  constexpr char const* kSoname = "libnvidia-ml.so.1";
  // The loader would end this process.
  if (auto const whole = base::check_shared_library(kSoname, base::library_folders()); !whole)
    return base::fail_with(whole);
  void* const library = ::dlopen(kSoname, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    char const* const reason = ::dlerror();
    return base::fail("no {} ({})", kSoname, reason != nullptr ? reason : "without a reason");
  }

  Api api;

  find(library, "nvmlInit_v2", api.init);
  find(library, "nvmlShutdown", api.shutdown);
  find(library, "nvmlDeviceGetCount_v2", api.device_count);
  find(library, "nvmlDeviceGetHandleByIndex_v2", api.device_by_index);
  find(library, "nvmlDeviceGetHandleByUUID", api.device_by_uuid);
  find(library, "nvmlDeviceGetName", api.device_name);
  find(library, "nvmlDeviceGetUUID", api.device_uuid);
  find(library, "nvmlDeviceGetNvLinkState", api.link_state);
  find(library, "nvmlDeviceGetP2PStatus", api.peer_status);
  find(library, "nvmlDeviceGetCurrPcieLinkGeneration", api.pcie_generation);
  find(library, "nvmlDeviceGetMaxPcieLinkGeneration", api.max_pcie_generation);
  find(library, "nvmlDeviceGetCurrPcieLinkWidth", api.pcie_lanes);
  find(library, "nvmlDeviceGetMaxPcieLinkWidth", api.max_pcie_lanes);
  find(library, "nvmlDeviceGetEnforcedPowerLimit", api.power_limit_mw);
  find(library, "nvmlDeviceGetUtilizationRates", api.utilization);
  find(library, "nvmlDeviceGetMemoryInfo", api.memory);
  find(library, "nvmlDeviceGetPowerUsage", api.power_mw);
  find(library, "nvmlDeviceGetClockInfo", api.clock_mhz);
  find(library, "nvmlDeviceGetCurrentClocksEventReasons", api.clock_limits);
  find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", api.clock_limits);  // its name before
  find(library, "nvmlDeviceGetTemperature", api.temperature_c);
  find(library, "nvmlDeviceGetFieldValues", api.fields);

  find(library, "nvmlGpmQueryDeviceSupport", api.gpm_support);
  find(library, "nvmlGpmSampleAlloc", api.gpm_alloc);
  find(library, "nvmlGpmSampleFree", api.gpm_free);
  find(library, "nvmlGpmSampleGet", api.gpm_sample);
  find(library, "nvmlGpmMetricsGet", api.gpm_metrics);

  if (api.init == nullptr || api.device_count == nullptr || api.device_by_index == nullptr)
    return base::fail("{} names no devices, install the driver again", kSoname);
  return api;
}

}  // namespace stepscope::tracer::nvml
