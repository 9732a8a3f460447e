// One library that has the functions of NVIDIA's that the checks of a machine call. Variables of
// the environment choose their answers, so that a test can make any machine.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace {

int number(char const* variable, int otherwise) {
  char const* const text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : otherwise;
}

void copy_text(char* to, size_t size, char const* text) { std::snprintf(to, size, "%s", text); }

}  // namespace

// Named and declared as NVIDIA's are.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

int cuInit(unsigned /*flags*/) {
  if (number("FAKE_DRIVER_CRASHES", 0) != 0) std::raise(SIGSEGV);
  while (number("FAKE_DRIVER_HANGS", 0) != 0) ::pause();
  return number("FAKE_CUINIT", 0);
}
int cuDriverGetVersion(int* version) {
  *version = number("FAKE_DRIVER_CUDA", 13'000);
  return 0;
}
int cuGetErrorName(int error, char const** name) {
  *name = error == 803 ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" : "CUDA_ERROR_OTHER";
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = number("FAKE_GPUS", 2);
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
int cuDeviceGetName(char* name, int size, int /*device*/) {
  copy_text(name, static_cast<size_t>(size), "Fake H100");
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int /*device*/) {
  *bytes = size_t{80} << 30;
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int /*device*/) {
  constexpr int kComputeMode = 20, kMajor = 75;
  *value = attribute == kMajor ? 9 : 0;
  if (attribute == kComputeMode) *value = number("FAKE_COMPUTE_MODE", 0);
  return 0;
}
int cuDeviceCanAccessPeer(int* can, int /*device*/, int /*peer*/) {
  *can = number("FAKE_PEER_ACCESS", 1);
  return 0;
}

int nvmlInit_v2() { return number("FAKE_NVML_INIT", 0); }
int nvmlSystemGetNVMLVersion(char* text, unsigned size) {
  copy_text(text, size, "13.580.65.06");
  return 0;
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  copy_text(text, size, "580.65.06");
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(uintptr_t{index} + 1);
  return 0;
}
int nvmlDeviceGetPersistenceMode(void* device, int* mode) {
  *mode = device == reinterpret_cast<void*>(uintptr_t{2}) ? number("FAKE_PERSISTENCE", 1) : 1;
  return 0;
}

int cudaRuntimeGetVersion(int* version) {
  *version = number("FAKE_RUNTIME", 13'000);
  return 0;
}
int ncclGetVersion(int* version) {
  *version = number("FAKE_NCCL", 22'703);
  return 0;
}
size_t cudnnGetVersion() { return static_cast<size_t>(number("FAKE_CUDNN", 91'200)); }
size_t cudnnGetCudartVersion() { return static_cast<size_t>(number("FAKE_RUNTIME", 13'000)); }
size_t cublasLtGetVersion() { return static_cast<size_t>(number("FAKE_CUBLASLT", 130'100)); }
size_t cublasLtGetCudartVersion() { return static_cast<size_t>(number("FAKE_RUNTIME", 13'000)); }

// CUPTI: what the search for it looks at.
int cuptiGetVersion(uint32_t* version) {
  *version = static_cast<uint32_t>(number("FAKE_CUPTI", 130'500));
  return 0;
}
void cuptiGetTimestamp() {}
void cuptiGetResultString() {}
void cuptiGetCallbackName() {}
void cuptiSubscribe() {}
void cuptiUnsubscribe() {}
void cuptiEnableCallback() {}
void cuptiEnableDomain() {}
void cuptiSetThreadIdType() {}
void cuptiActivitySetAttribute() {}
void cuptiActivityRegisterTimestampCallback() {}
void cuptiActivityRegisterCallbacks() {}
void cuptiActivityEnable() {}
void cuptiActivityDisable() {}
void cuptiActivityGetNextRecord() {}
void cuptiActivityGetNumDroppedRecords() {}
void cuptiActivityFlushAll() {}
void cuptiFinalize() {}
// What CUDA 13.3 added for several subscribers.
void cuptiSubscribe_v2() {}
void cuptiActivityRegisterCallbacks_v2() {}
void cuptiActivityEnable_v2() {}
void cuptiActivityDisable_v2() {}
void cuptiActivitySetAttribute_v2() {}
void cuptiActivityGetAttribute_v2() {}
void cuptiGetTimestamp_v2() {}
void cuptiActivityGetNextRecord_v2() {}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
