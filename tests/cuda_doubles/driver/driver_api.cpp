// The functions of libcuda.so.1 that Stepscope looks up: doctor's, the tracer's and the engine for
// the other doubles.
#include <cuda.h>

#include <cstdio>
#include <string>

#include "tests/cuda_doubles/driver/state.h"

// NOLINTBEGIN(readability-identifier-naming): names of CUDA.
#undef cuDeviceTotalMem  // the header's macro for the function below
using stepscope::cuda_doubles::driver_engine;
using stepscope::cuda_doubles::DriverEngine;
using stepscope::cuda_doubles::number_of_knob;

#pragma GCC visibility push(default)
extern "C" {

stepscope::cuda_doubles::Engine* stepscope_double_engine() { return &driver_engine(); }

CUresult cuInit(unsigned /*flags*/) { return static_cast<CUresult>(driver_engine().initialize()); }

CUresult cuDriverGetVersion(int* version) {
  *version = static_cast<int>(number_of_knob("DOUBLE_CUDA_DRIVER", 13000));
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, char const** name) {
  switch (error) {
    case CUDA_SUCCESS:
      *name = "CUDA_SUCCESS";
      break;
    case CUDA_ERROR_NO_DEVICE:
      *name = "CUDA_ERROR_NO_DEVICE";
      break;
    default:
      *name = "CUDA_ERROR_UNKNOWN";
  }
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  int const device = driver_engine().current_device();
  uintptr_t const number =
      driver_engine().has_context(device) ? DriverEngine::context_of(device) : 0;
  *context = reinterpret_cast<CUcontext>(number);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  *count = driver_engine().device_count();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return ordinal < driver_engine().device_count() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetName(char* name, int size, CUdevice /*device*/) {
  std::snprintf(name, static_cast<size_t>(size), "Double of a GPU");
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice /*device*/) {
  size_t unused = 0;
  driver_engine().memory_info(&unused, bytes);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice /*device*/) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 4;
      break;
    default:
      *value = 0;
  }
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  *can = device == peer ? 0 : 1;
  return CUDA_SUCCESS;
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
