// The categories of events that PyTorch's profiler (Kineto) writes, in old and new versions.
#pragma once

#include <cstdint>
#include <string_view>

namespace stepscope::import {

enum class KinetoCategory : uint8_t {
  kOther,      ///< not Kineto's: what the event is follows from its phase alone
  kHostRange,  ///< operators, annotations, Python functions
  kInputWait,  ///< the program waits for its data loader
  kRuntime,    ///< a call of the CUDA or HIP runtime, or of the driver
  kOverhead,   ///< the profiler's own time
  kKernel,
  kMemcpy,
  kMemset,
  kDeviceOp,     ///< work of a device: its name tells whether it computes, copies or communicates
  kDeviceSync,   ///< what a stream or the host waits for, told by the device's side
  kDeviceRange,  ///< an annotation, over the device ops that were launched in it
  kFlow  ///< arrows between events: from calls to device ops, from forward to backward operators
};

KinetoCategory category_of(std::string_view name);

}  // namespace stepscope::import
