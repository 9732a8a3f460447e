// The CUDA backend from outside: which GPUs a specification means, and the module
// (lib/libstepscope-cuda.so, a shared object of its own) that knows them. It is loaded when a CUDA
// device is asked for: the program runs where there is no CUDA.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workloads/backend/backend.h"

namespace stepscope::workloads {

/// What follows "cuda:": "" is GPU 0, "1" GPU 1, "0,cuda:1" and "0,1" two GPUs, "0,cuda:0" two
/// devices that share one, "all" every GPU (an empty list). Errors: no number, too many devices.
Expected<std::vector<int>> parse_gpus(std::string_view arguments);

/// The GPUs of a specification.
struct GpuNames {
  std::vector<int> gpus;  ///< empty = every GPU
  bool given =
      true;  ///< false: "cuda" alone, the first GPU; of several processes each takes one of its own

  friend bool operator==(GpuNames const&, GpuNames const&) = default;
};

/// Signature and name of the one function that the module has. `result` is written; no exception
/// comes.
using OpenGpusFunction = void (*)(GpuNames const& names, DeviceOptions const& options,
                                  Expected<DeviceGroup>& result);
constexpr char const* kOpenGpusFunction = "stepscope_open_gpus";

/// It stays loaded: devices' code is in it. Errors: no file, not loadable, of another build; the
/// message says what to do.
Expected<OpenGpusFunction> load_cuda_module(std::string const& path);
/// Where it is installed: ../lib/ from the running program.
std::string cuda_module_path();

/// Errors: those above and the module's own (no driver, no such GPU, a library that is missing).
Expected<DeviceGroup> open_cuda_devices(std::string_view arguments, DeviceOptions const& options);

}  // namespace stepscope::workloads
