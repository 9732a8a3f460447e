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

/// Of other tools, and of forks that write them in other letters: in small letters, with lines for
/// spaces.
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
  auto const found = std::find_if(kNames.begin(), kNames.end(),
                                  [&](auto const& known) { return known.first == name; });
  return found == kNames.end() ? category_of_vendor(name) : found->second;
}

}  // namespace stepscope::import
