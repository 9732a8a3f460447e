// The functions of libcuda that tell what devices there are. Our own declarations after NVIDIA's
// public header (cuda.h): the program is built without it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "doctor/library.h"

namespace stepscope::doctor {

inline constexpr int kCudaSuccess = 0, kCudaNoDevice = 100;

struct CudaDriver {
  Library library;
  int (*init)(unsigned flags) = nullptr;
  int (*driver_version)(int* version) = nullptr;
  int (*error_name)(int error, char const** name) = nullptr;
  int (*device_count)(int* count) = nullptr;
  int (*device)(int* device, int ordinal) = nullptr;
  int (*device_name)(char* name, int size, int device) = nullptr;
  int (*total_memory)(size_t* bytes, int device) = nullptr;
  int (*attribute)(int* value, int attribute, int device) = nullptr;
  int (*can_access_peer)(int* can, int device, int peer) = nullptr;
};

/// Errors: no such library, or one that lacks a function.
base::Expected<CudaDriver> load_cuda_driver(Places const& places);

/// "CUDA_ERROR_NO_DEVICE (100)".
std::string cuda_error(CudaDriver const& driver, int error);
/// 13000 → "13.0".
std::string cuda_version(int version);
/// The devices of a driver that could be initialized, in CUDA's order; empty when it could not.
std::vector<int> cuda_devices(CudaDriver const& driver);

}  // namespace stepscope::doctor
