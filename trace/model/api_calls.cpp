#include "trace/model/api_calls.h"

#include <algorithm>
#include <array>

namespace stepscope::model {
namespace {

struct Rule {
  std::string_view prefix;
  ApiClass api_class;
};

/// The first prefix that fits decides; what fits none is kOther.
constexpr std::array kRules = {
    // No device op follows: the host function is the host's.
    Rule{"cudaLaunchHostFunc", ApiClass::kOther},
    Rule{"cuLaunchHostFunc", ApiClass::kOther},
    Rule{"cudaLaunch", ApiClass::kLaunch},
    Rule{"__cudaLaunch", ApiClass::kLaunch},
    Rule{"cudaGraphLaunch", ApiClass::kLaunch},
    Rule{"cudaMemcpy", ApiClass::kLaunch},
    Rule{"cudaMemset", ApiClass::kLaunch},
    Rule{"cuLaunch", ApiClass::kLaunch},
    Rule{"cuGraphLaunch", ApiClass::kLaunch},
    Rule{"cuMemcpy", ApiClass::kLaunch},
    Rule{"cu64Memcpy", ApiClass::kLaunch},
    Rule{"cuMemsetD", ApiClass::kLaunch},
    Rule{"cu64MemsetD", ApiClass::kLaunch},
    Rule{"cudaDeviceSynchronize", ApiClass::kSync},
    Rule{"cudaThreadSynchronize", ApiClass::kSync},
    Rule{"cudaStreamSynchronize", ApiClass::kSync},
    Rule{"cudaEventSynchronize", ApiClass::kSync},
    Rule{"cuCtxSynchronize", ApiClass::kSync},
    Rule{"cuStreamSynchronize", ApiClass::kSync},
    Rule{"cuEventSynchronize", ApiClass::kSync},
    Rule{"cudaMalloc", ApiClass::kMemory},
    Rule{"cudaFree", ApiClass::kMemory},
    Rule{"cudaHostAlloc", ApiClass::kMemory},
    Rule{"cuMemAlloc", ApiClass::kMemory},
    Rule{"cu64MemAlloc", ApiClass::kMemory},
    Rule{"cuMemFree", ApiClass::kMemory},
    Rule{"cu64MemFree", ApiClass::kMemory},
    Rule{"cuMemHostAlloc", ApiClass::kMemory},
    // Segments that grow (PyTorch's expandable_segments), and memory of the program that it pins.
    Rule{"cuMemCreate", ApiClass::kMemory},
    Rule{"cuMemRelease", ApiClass::kMemory},
    Rule{"cuMemMap", ApiClass::kMemory},
    Rule{"cudaHostRegister", ApiClass::kMemory},
    Rule{"cudaHostUnregister", ApiClass::kMemory},
    Rule{"cuMemHostRegister", ApiClass::kMemory},
    Rule{"cuMemHostUnregister", ApiClass::kMemory},
    Rule{"hipModuleLaunch", ApiClass::kLaunch},
    Rule{"hipExtLaunch", ApiClass::kLaunch},
    Rule{"hipExtModuleLaunch", ApiClass::kLaunch},
    Rule{"hipHostMalloc", ApiClass::kMemory},
    Rule{"hipHostFree", ApiClass::kMemory},
    // Intel's unified runtime.
    Rule{"urEnqueueKernelLaunch", ApiClass::kLaunch},
    Rule{"urEnqueueCooperativeKernelLaunch", ApiClass::kLaunch},
    Rule{"urEnqueueUSM", ApiClass::kLaunch},
    Rule{"urEnqueueMem", ApiClass::kLaunch},
    Rule{"urQueueFinish", ApiClass::kSync},
    Rule{"urEventWait", ApiClass::kSync},
    Rule{"urUSMDeviceAlloc", ApiClass::kMemory},
    Rule{"urUSMHostAlloc", ApiClass::kMemory},
    Rule{"urUSMSharedAlloc", ApiClass::kMemory},
    Rule{"urUSMFree", ApiClass::kMemory},
    // Frameworks ask these around every launch; none of them waits or enqueues anything.
    Rule{"__cuda", ApiClass::kNoise},
    Rule{"cudaGetLastError", ApiClass::kNoise},
    Rule{"cudaPeekAtLastError", ApiClass::kNoise},
    Rule{"cudaGetError", ApiClass::kNoise},
    Rule{"cudaGetDevice", ApiClass::kNoise},
    Rule{"cudaSetDevice", ApiClass::kNoise},
    Rule{"cudaDeviceGet", ApiClass::kNoise},
    Rule{"cudaDriverGetVersion", ApiClass::kNoise},
    Rule{"cudaRuntimeGetVersion", ApiClass::kNoise},
    Rule{"cudaGetDriverEntryPoint", ApiClass::kNoise},
    Rule{"cudaGetExportTable", ApiClass::kNoise},
    Rule{"cudaFuncGet", ApiClass::kNoise},
    Rule{"cudaFuncSet", ApiClass::kNoise},
    Rule{"cudaOccupancy", ApiClass::kNoise},
    Rule{"cudaPointerGetAttributes", ApiClass::kNoise},
    Rule{"cudaHostGet", ApiClass::kNoise},
    Rule{"cudaMemGetInfo", ApiClass::kNoise},
    Rule{"cudaStreamIsCapturing", ApiClass::kNoise},
    Rule{"cudaStreamGet", ApiClass::kNoise},
    Rule{"cudaStreamQuery", ApiClass::kNoise},
    Rule{"cudaThreadExchangeStreamCaptureMode", ApiClass::kNoise},
    Rule{"cudaEventQuery", ApiClass::kNoise},
    Rule{"cudaEventCreate", ApiClass::kNoise},
    Rule{"cudaEventDestroy", ApiClass::kNoise},
    Rule{"cudaEventElapsedTime", ApiClass::kNoise},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string_view plain_name(std::string_view cupti_name) {
  for (std::string_view const suffix : {"_ptsz", "_ptds"})
    cupti_name = cupti_name.substr(0, cupti_name.find(suffix));
  for (size_t at = cupti_name.find("_v"); at != std::string_view::npos;
       at = cupti_name.find("_v", at + 1)) {
    if (at + 2 < cupti_name.size() && is_digit(cupti_name[at + 2])) return cupti_name.substr(0, at);
  }
  return cupti_name;
}

ApiClass classify(std::string_view plain_name) {
  constexpr std::string_view kCuda = "cuda", kHip = "hip";
  bool const is_hip = plain_name.starts_with(kHip);
  auto const fits = [&](Rule const& rule) {
    if (plain_name.starts_with(rule.prefix)) return true;
    return is_hip && rule.prefix.starts_with(kCuda) &&
           plain_name.substr(kHip.size()).starts_with(rule.prefix.substr(kCuda.size()));
  };
  auto const found = std::find_if(kRules.begin(), kRules.end(), fits);
  return found == kRules.end() ? ApiClass::kOther : found->api_class;
}

SyncKind sync_kind_of(std::string_view plain_name) {
  if (classify(plain_name) != ApiClass::kSync) return SyncKind::kUnknown;
  if (plain_name.find("Event") != std::string_view::npos) return SyncKind::kEvent;
  return plain_name.find("Stream") != std::string_view::npos ? SyncKind::kStream
                                                             : SyncKind::kDevice;
}

}  // namespace stepscope::model
