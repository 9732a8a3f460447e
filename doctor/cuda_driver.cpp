#include "doctor/cuda_driver.h"

namespace stepscope::doctor {

base::Expected<CudaDriver> load_cuda_driver(Places const& places) {
  auto library = Library::open(places, "libcuda.so.1");
  if (!library) return base::fail_with(library);

  CudaDriver driver{.library = *library};
  bool const complete = library->find("cuInit", driver.init) &&
                        library->find("cuDriverGetVersion", driver.driver_version) &&
                        library->find("cuGetErrorName", driver.error_name) &&
                        library->find("cuDeviceGetCount", driver.device_count) &&
                        library->find("cuDeviceGet", driver.device) &&
                        library->find("cuDeviceGetName", driver.device_name) &&
                        library->find("cuDeviceTotalMem_v2", driver.total_memory) &&
                        library->find("cuDeviceGetAttribute", driver.attribute) &&
                        library->find("cuDeviceCanAccessPeer", driver.can_access_peer);

  if (!complete) return base::fail("{}: is not the library of an NVIDIA driver", library->path());
  return driver;
}

std::string cuda_error(CudaDriver const& driver, int error) {
  char const* name = nullptr;
  bool const known = driver.error_name(error, &name) == kCudaSuccess && name != nullptr;
  return fmt::format("{} ({})", known ? name : "unknown error", error);
}

std::string cuda_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::vector<int> cuda_devices(CudaDriver const& driver) {
  std::vector<int> devices;
  int count = 0;
  if (driver.init(0) != kCudaSuccess || driver.device_count(&count) != kCudaSuccess) return devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    int device = 0;
    if (driver.device(&device, ordinal) == kCudaSuccess) devices.push_back(device);
  }
  return devices;
}

}  // namespace stepscope::doctor
