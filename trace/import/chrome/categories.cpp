#include "trace/import/chrome/categories.h"

#include <algorithm>
#include <array>
#include <utility>

namespace stepscope::import {
namespace {

/// How vendors' forks of Kineto begin the categories of their devices.
constexpr std::array<std::string_view, 14> kVendorWords = {"gpu", "npu", "xpu",  "hpu",  "mlu", "musa", "gcu",
                                                           "tpu", "dcu", "mtia", "cuda", "hip", "rocm", "privateuse1"};

/// "npu_memcpy", "musa_runtime", "mlu_op": categories of devices that the table does not list.
KinetoCategory category_of_vendor(std::string_view name) {
  using enum KinetoCategory;
  size_t const line = name.find('_');
  if (line == std::string_view::npos) return name.ends_with("Runtime") ? kRuntime : kOther;
  std::string_view const rest = name.substr(line + 1);
  if (rest == "runtime" || rest == "driver") return kRuntime;
  if (std::find(kVendorWords.begin(), kVendorWords.end(), name.substr(0, line)) == kVendorWords.end()) return kOther;
  if (rest == "memcpy") return kMemcpy;
  if (rest == "memset") return kMemset;
  if (rest == "kernel" || rest == "op" || rest == "ops") return kDeviceOp;
  return rest == "user_annotation" ? kDeviceRange : kOther;
}

}  // namespace

KinetoCategory category_of(std::string_view name) {
  using enum KinetoCategory;
  // Capitals: of old versions.
  static constexpr std::array<std::pair<std::string_view, KinetoCategory>, 45> kNames = {{
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
      {"hpu_op", kDeviceOp},
      {"mtia_ccp_events", kDeviceOp},
      // PaddlePaddle.
      {"CudaRuntime", kRuntime},
      {"Dataloader", kInputWait},
      {"ProfileStep", kHostRange},
      {"Forward", kHostRange},
      {"Backward", kHostRange},
      {"Optimization", kHostRange},
      {"OperatorInner", kHostRange},
      {"PythonUserDefined", kHostRange},
  }};
  auto const found = std::find_if(kNames.begin(), kNames.end(), [&](auto const& known) { return known.first == name; });
  return found == kNames.end() ? category_of_vendor(name) : found->second;
}

}  // namespace stepscope::import
