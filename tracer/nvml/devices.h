// Which of NVML's GPUs are which of CUDA's devices. NVML numbers GPUs by their place on the PCI
// bus, CUDA by their speed unless CUDA_DEVICE_ORDER says otherwise: only UUIDs are the same to
// both.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tracer/core/device_registry.h"
#include "tracer/nvml/api.h"

namespace stepscope::tracer::nvml {

struct OpenDevice {
  int32_t number = 0;  ///< as CUDA numbers it in this process
  Device handle = nullptr;
};

/// The devices of `used` that NVML knows.
std::vector<OpenDevice> open_devices(Api const& api, std::span<DeviceRegistry::Device const> used);

/// Values of the variables that CUDA reads; null = not set.
struct DeviceVariables {
  char const* visible_devices = nullptr;  ///< CUDA_VISIBLE_DEVICES
  char const* order = nullptr;            ///< CUDA_DEVICE_ORDER
};
struct VisibleDevices {
  std::vector<OpenDevice> devices;
  std::string problem;  ///< why devices have no number; empty = they have
};
/// The devices that CUDA sees as far as its variables tell, UUIDs abbreviated as CUDA allows it. As
/// CUDA does, ends at what is no device. Numbers mean something only where GPUs are ordered as NVML
/// does or all the same.
VisibleDevices visible_devices(Api const& api, DeviceVariables const& variables);

/// The slot and the settings of each device, for people: PCIe link as it is and as it could be,
/// limit of power. A link that saves power is slower than it could be. Empty where nothing is
/// known.
std::string describe_surroundings(Api const& api, std::span<OpenDevice const> devices);

/// Links that are up and who reaches whom over them, for people; empty when there is none.
std::string describe_nvlink(Api const& api, std::span<OpenDevice const> devices);

}  // namespace stepscope::tracer::nvml
