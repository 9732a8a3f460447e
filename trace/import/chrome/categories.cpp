#include "trace/import/chrome/categories.h"

#include <algorithm>
#include <array>
#include <utility>

namespace stepscope::import {

KinetoCategory category_of(std::string_view name) {
  using enum KinetoCategory;
  // Capitals: of old versions.
  static constexpr std::array<std::pair<std::string_view, KinetoCategory>, 35> kNames = {{
      {"cpu_op", kHostRange},
      {"kernel", kKernel},
      {"cuda_runtime", kRuntime},
      {"ac2g", kFlow},
      {"python_function", kHostRange},
      {"gpu_memcpy", kMemcpy},
      {"gpu_memset", kMemset},
      {"cuda_driver", kRuntime},
      {"user_annotation", kHostRange},
      {"gpu_user_annotation", kDeviceRange},
      {"fwdbwd", kFlow},
      {"overhead", kOverhead},
      {"cuda_sync", kDeviceSync},
      {"cpu_instant_event", kHostRange},
      {"Operator", kHostRange},
      {"Kernel", kKernel},
      {"Memcpy", kMemcpy},
      {"Memset", kMemset},
      {"Runtime", kRuntime},
      {"async", kFlow},
      {"user_defined", kHostRange},
      {"PythonFunction", kHostRange},
      {"Overhead", kOverhead},
      {"hip_runtime", kRuntime},
      {"xpu_runtime", kRuntime},
      {"xpu_driver", kRuntime},
      {"mtia_runtime", kRuntime},
      {"privateuse1_runtime", kRuntime},
      {"privateuse1_driver", kRuntime},
      {"glow_runtime", kRuntime},
      {"concurrent_kernel", kKernel},
      {"cuda_profiler_range", kDeviceRange},
      {"collective_comm", kDeviceRange},
      {"cuda_event", kDeviceSync},
      {"xpu_sync", kDeviceSync},
  }};
  auto const found = std::find_if(kNames.begin(), kNames.end(), [&](auto const& known) { return known.first == name; });
  return found == kNames.end() ? kOther : found->second;
}

}  // namespace stepscope::import
