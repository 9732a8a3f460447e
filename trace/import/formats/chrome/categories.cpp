#include "trace/import/formats/chrome/categories.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace stepscope::import {
namespace {

/// How vendors' forks of Kineto begin the categories of their devices.
constexpr std::array<std::string_view, 14> kVendorWords = {
    "gpu", "npu", "xpu",  "hpu",  "mlu", "musa", "gcu",
    "tpu", "dcu", "mtia", "cuda", "hip", "rocm", "privateuse1"};

/// Categories of other tools, and of forks that write them in other letters: in small letters, with
/// lines for spaces.
constexpr std::array<std::pair<std::string_view, KinetoCategory>, 29> kOfOtherTools = {{
    {"kernels", KinetoCategory::kKernel},
    {"kernel", KinetoCategory::kKernel},
    {"gpu_kernel", KinetoCategory::kKernel},
    {"gpu_kernels", KinetoCategory::kKernel},
    {"device_kernel", KinetoCategory::kKernel},
    {"cuda_kernel", KinetoCategory::kKernel},
    {"kernel_dispatch", KinetoCategory::kKernel},  // rocprofv3
    {"memory_copy", KinetoCategory::kMemcpy},
    {"memory_copies", KinetoCategory::kMemcpy},
    {"memcpy", KinetoCategory::kMemcpy},
    {"gpu_memcpy", KinetoCategory::kMemcpy},
    {"memory_set", KinetoCategory::kMemset},
    {"memset", KinetoCategory::kMemset},
    {"gpu_memset", KinetoCategory::kMemset},
    {"gpu_op", KinetoCategory::kDeviceOp},
    {"gpu_activity", KinetoCategory::kDeviceOp},
    {"device_op", KinetoCategory::kDeviceOp},
    {"device_activity", KinetoCategory::kDeviceOp},
    {"hip_api", KinetoCategory::kRuntime},
    {"hsa_api", KinetoCategory::kRuntime},
    {"cuda_api", KinetoCategory::kRuntime},
    {"hip_runtime_api", KinetoCategory::kRuntime},
    {"cuda_runtime_api", KinetoCategory::kRuntime},
    {"cuda_driver_api", KinetoCategory::kRuntime},
    {"runtime_api", KinetoCategory::kRuntime},
    {"driver_api", KinetoCategory::kRuntime},
    {"user_annotation", KinetoCategory::kHostRange},
    {"cpu_op", KinetoCategory::kHostRange},
    {"python_function", KinetoCategory::kHostRange},
}};

std::string in_small_letters_with_lines(std::string_view text) {
  std::string small(text);
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == ' ' || c == '-') c = '_';
  }
  return small;
}

KinetoCategory category_of_other_tool(std::string_view name) {
  std::string const small = in_small_letters_with_lines(name);
  auto const found = std::find_if(kOfOtherTools.begin(), kOfOtherTools.end(),
                                  [&](auto const& known) { return known.first == small; });
  return found == kOfOtherTools.end() ? KinetoCategory::kOther : found->second;
}

/// "npu_memcpy", "musa_runtime", "mlu_op": categories of devices that the table does not list.
KinetoCategory category_of_vendor(std::string_view text) {
  using enum KinetoCategory;
  if (auto const known = category_of_other_tool(text); known != kOther) return known;

  std::string const small =
      text.ends_with("Runtime") ? std::string(text) : in_small_letters_with_lines(text);
  std::string_view const name = small;
  size_t const line = name.find('_');
  if (line == std::string_view::npos) return name.ends_with("Runtime") ? kRuntime : kOther;

  std::string_view const rest = name.substr(line + 1);
  if (rest == "runtime" || rest == "driver") return kRuntime;
  if (std::find(kVendorWords.begin(), kVendorWords.end(), name.substr(0, line)) ==
      kVendorWords.end())
    return kOther;

  if (rest == "memcpy") return kMemcpy;
  if (rest == "memset") return kMemset;
  if (rest == "kernel" || rest == "op" || rest == "ops") return kDeviceOp;
  return rest == "user_annotation" ? kDeviceRange : kOther;
}

/// Capitals: of old versions.
constexpr std::array<std::pair<std::string_view, KinetoCategory>, 45> kNamesOfKineto = {{
    {"cpu_op", KinetoCategory::kHostRange},
    {"kernel", KinetoCategory::kKernel},
    {"cuda_runtime", KinetoCategory::kRuntime},
    {"ac2g", KinetoCategory::kFlow},
    {"python_function", KinetoCategory::kHostRange},
    {"gpu_memcpy", KinetoCategory::kMemcpy},
    {"gpu_memset", KinetoCategory::kMemset},
    {"cuda_driver", KinetoCategory::kRuntime},
    {"user_annotation", KinetoCategory::kHostRange},
    {"gpu_user_annotation", KinetoCategory::kDeviceRange},
    {"fwdbwd", KinetoCategory::kFlow},
    {"overhead", KinetoCategory::kOverhead},
    {"cuda_sync", KinetoCategory::kDeviceSync},
    {"cpu_instant_event", KinetoCategory::kHostRange},
    {"Operator", KinetoCategory::kHostRange},
    {"Kernel", KinetoCategory::kKernel},
    {"Memcpy", KinetoCategory::kMemcpy},
    {"Memset", KinetoCategory::kMemset},
    {"Runtime", KinetoCategory::kRuntime},
    {"async", KinetoCategory::kFlow},
    {"user_defined", KinetoCategory::kHostRange},
    {"PythonFunction", KinetoCategory::kHostRange},
    {"Overhead", KinetoCategory::kOverhead},
    {"hip_runtime", KinetoCategory::kRuntime},
    {"xpu_runtime", KinetoCategory::kRuntime},
    {"xpu_driver", KinetoCategory::kRuntime},
    {"mtia_runtime", KinetoCategory::kRuntime},
    {"privateuse1_runtime", KinetoCategory::kRuntime},
    {"privateuse1_driver", KinetoCategory::kRuntime},
    {"glow_runtime", KinetoCategory::kRuntime},
    {"concurrent_kernel", KinetoCategory::kKernel},
    {"cuda_profiler_range", KinetoCategory::kDeviceRange},
    {"collective_comm", KinetoCategory::kDeviceRange},
    {"cuda_event", KinetoCategory::kDeviceSync},
    {"xpu_sync", KinetoCategory::kDeviceSync},
    {"hpu_op", KinetoCategory::kDeviceOp},
    {"mtia_ccp_events", KinetoCategory::kDeviceOp},
    // PaddlePaddle.
    {"CudaRuntime", KinetoCategory::kRuntime},
    {"Dataloader", KinetoCategory::kInputWait},
    {"ProfileStep", KinetoCategory::kHostRange},
    {"Forward", KinetoCategory::kHostRange},
    {"Backward", KinetoCategory::kHostRange},
    {"Optimization", KinetoCategory::kHostRange},
    {"OperatorInner", KinetoCategory::kHostRange},
    {"PythonUserDefined", KinetoCategory::kHostRange},
}};

}  // namespace

KinetoCategory category_of(std::string_view name) {
  auto const found = std::find_if(kNamesOfKineto.begin(), kNamesOfKineto.end(),
                                  [&](auto const& known) { return known.first == name; });
  return found == kNamesOfKineto.end() ? category_of_vendor(name) : found->second;
}

}  // namespace stepscope::import
