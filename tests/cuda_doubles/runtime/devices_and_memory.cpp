// The runtime's devices, memory, streams and events.
#include <cuda_profiler_api.h>

#include <cstdlib>
#include <cstring>

#include "tests/cuda_doubles/device/visible_devices.h"
#include "tests/cuda_doubles/runtime/call.h"

namespace stepscope::cuda_doubles {
namespace {

constexpr uint8_t kPinnedMemory = 2;  // CUPTI_ACTIVITY_MEMORY_KIND_PINNED

thread_local cudaError_t last_error = cudaSuccess;

cudaError_t take_last_error() {
  cudaError_t const error = last_error;
  last_error = cudaSuccess;
  return error;
}

/// A capture of this thread forbids it ("Creating a Graph Using Stream Capture", "Prohibited and
/// Unhandled Operations").
template <class Work>
cudaError_t unless_capturing(Engine& driver, Work const& work) {
  return driver.is_thread_capturing() ? cudaErrorStreamCaptureUnsupported : work();
}

void tell_pinned(Engine& driver, bool is_allocation, void* data, size_t bytes) {
  if (Observer* const tool = driver.observer())
    tool->memory_changed({is_allocation, reinterpret_cast<uint64_t>(data), bytes, kPinnedMemory, 0,
                          driver.current_correlation()});
}

}  // namespace

cudaError_t keep_error(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

}  // namespace stepscope::cuda_doubles

// NOLINTBEGIN(readability-identifier-naming): names of CUDA.
using namespace stepscope::cuda_doubles;  // NOLINT(google-build-using-namespace)

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  auto const work = [&](Engine& driver) {
    *count = driver.device_count();
    return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
  };
  *count = 0;
  return call_runtime(STEPSCOPE_FUNCTION(cudaGetDeviceCount, v3020), work, Needs::kNothing);
}

cudaError_t cudaSetDevice(int device) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaSetDevice, v3020),
                      [=](Engine& driver) { return driver.set_current_device(device); });
}

cudaError_t cudaGetDevice(int* device) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaGetDevice, v3020), [=](Engine& driver) {
    *device = driver.current_device();
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int /*device*/) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaDeviceGetAttribute, v5000), [=](Engine& /*driver*/) {
    *value = attribute == cudaDevAttrComputeCapabilityMajor ? 9 : 0;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaGetDeviceProperties, v12000), [=](Engine& driver) {
    *properties = {};
    std::strcpy(properties->name, "Double of a GPU");
    properties->uuid.bytes[0] = first_uuid_byte(driver.number_on_machine(device));
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaDeviceCanAccessPeer, v4000), [=](Engine&) {
    *can = device == peer ? 0 : 1;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int /*peer*/, unsigned /*flags*/) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaDeviceEnablePeerAccess, v4000),
                      [](Engine&) { return cudaSuccess; });
}

cudaError_t cudaDeviceSynchronize() {
  return call_runtime(STEPSCOPE_FUNCTION(cudaDeviceSynchronize, v3020), [](Engine& driver) {
    driver.synchronize_device();
    return driver.sticky_error();
  });
}

/// The arrays stay: the program that Stepscope tests with it frees them all before.
cudaError_t cudaDeviceReset() {
  return call_runtime(STEPSCOPE_FUNCTION(cudaDeviceReset, v3020), [](Engine& driver) {
    driver.synchronize_device();
    return cudaSuccess;
  });
}

cudaError_t cudaProfilerStart() {
  return call_runtime(STEPSCOPE_FUNCTION(cudaProfilerStart, v4000),
                      [](Engine&) { return cudaSuccess; });
}
cudaError_t cudaProfilerStop() {
  return call_runtime(STEPSCOPE_FUNCTION(cudaProfilerStop, v4000),
                      [](Engine&) { return cudaSuccess; });
}

cudaError_t cudaGetLastError() {
  call_runtime(
      STEPSCOPE_FUNCTION(cudaGetLastError, v3020), [](Engine&) { return cudaSuccess; },
      Needs::kNothing);
  Engine* const driver = engine();
  cudaError_t const sticky = driver == nullptr ? cudaSuccess : driver->sticky_error();
  cudaError_t const last = take_last_error();
  return sticky != cudaSuccess ? sticky : last;
}

char const* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    default:
      return "cudaErrorUnknown";
  }
}

char const* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorECCUncorrectable:
      return "uncorrectable ECC error encountered";
    case cudaErrorLaunchTimeout:
      return "the launch timed out and was terminated";
    case cudaErrorDevicesUnavailable:
      return "CUDA-capable device(s) is/are busy or unavailable";
    case cudaErrorNoKernelImageForDevice:
      return "no kernel image is available for execution on the device";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    default:
      return cudaGetErrorName(error);
  }
}

// Memory.

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaMemGetInfo, v3020), [=](Engine& driver) {
    driver.memory_info(free_bytes, total_bytes);
    return cudaSuccess;
  });
}

cudaError_t cudaMalloc(void** data, size_t bytes) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaMalloc, v3020), [=](Engine& driver) {
    return unless_capturing(driver, [&] { return driver.allocate(data, bytes); });
  });
}

cudaError_t cudaFree(void* data) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaFree, v3020), [=](Engine& driver) {
    return unless_capturing(driver, [&] { return driver.free(data); });
  });
}

cudaError_t cudaMallocAsync(void** data, size_t bytes, cudaStream_t /*stream*/) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaMallocAsync, v11020),
                      [=](Engine& driver) { return driver.allocate(data, bytes); });
}

/// Waits where the real one would queue it.
cudaError_t cudaFreeAsync(void* data, cudaStream_t /*stream*/) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaFreeAsync, v11020),
                      [=](Engine& driver) { return driver.free(data); });
}

cudaError_t cudaMallocHost(void** data, size_t bytes) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaMallocHost, v3020), [=](Engine& driver) {
    *data = std::malloc(bytes);
    if (*data == nullptr) return cudaErrorMemoryAllocation;
    tell_pinned(driver, true, *data, bytes);
    return driver.pin(*data, bytes);
  });
}

cudaError_t cudaFreeHost(void* data) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaFreeHost, v3020), [=](Engine& driver) {
    cudaError_t const error = driver.unpin(data);
    tell_pinned(driver, false, data, 0);
    std::free(data);
    return error;
  });
}

cudaError_t cudaHostRegister(void* data, size_t bytes, unsigned /*flags*/) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaHostRegister, v4000),
                      [=](Engine& driver) { return driver.pin(data, bytes); });
}

cudaError_t cudaHostUnregister(void* data) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaHostUnregister, v4000),
                      [=](Engine& driver) { return driver.unpin(data); });
}

// Streams and events.

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaStreamCreateWithFlags, v5000),
                      [=](Engine& driver) { return driver.create_stream(stream); });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaStreamDestroy, v5050),
                      [=](Engine& driver) { return driver.destroy_stream(stream); });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaStreamSynchronize, v3020),
                      [=](Engine& driver) { return driver.synchronize(stream); });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaStreamWaitEvent, v3020),
                      [=](Engine& driver) { return driver.wait(stream, event); });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaEventCreate, v3020),
                      [=](Engine& driver) { return driver.create_event(event); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned /*flags*/) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaEventCreateWithFlags, v3020),
                      [=](Engine& driver) { return driver.create_event(event); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaEventDestroy, v3020),
                      [=](Engine& driver) { return driver.destroy_event(event); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaEventRecord, v3020),
                      [=](Engine& driver) { return driver.record(event, stream); });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaEventQuery, v3020),
                      [=](Engine& driver) { return driver.query(event); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaEventSynchronize, v3020),
                      [=](Engine& driver) { return driver.synchronize(event); });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaEventElapsedTime, v3020),
                      [=](Engine& driver) { return driver.elapsed(milliseconds, from, to); });
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
