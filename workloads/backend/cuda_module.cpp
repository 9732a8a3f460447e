// Specifications of GPUs, and the CUDA module; see cuda_module.h.
#include "workloads/backend/cuda_module.h"

#include <dlfcn.h>

#include <charconv>
#include <filesystem>

#include "mpi/processes.h"

namespace stepscope::workloads {
namespace {

constexpr size_t kMaxDevices =
    64;  // logical devices included; three streams each: more is a typing error

}  // namespace

Expected<std::vector<int>> parse_gpus(std::string_view arguments) {
  if (arguments.empty()) return std::vector{0};
  if (arguments == "all") return std::vector<int>{};

  std::vector<int> gpus;
  for (std::string_view rest = arguments;;) {
    size_t const comma = rest.find(',');
    std::string_view one = rest.substr(0, comma);
    if (one.starts_with("cuda:")) one.remove_prefix(5);

    int gpu = -1;
    auto const [end, error] = std::from_chars(one.data(), one.data() + one.size(), gpu);
    if (error != std::errc() || end != one.data() + one.size() || gpu < 0) {
      return base::fail(
          "cuda:{}: '{}' is not the number of a GPU, use for example cuda:0 or cuda:0,cuda:1 (or "
          "host:2 for host devices)",
          arguments, one);
    }

    gpus.push_back(gpu);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }

  if (gpus.size() > kMaxDevices)
    return base::fail("cuda:{}: more than {} devices, name fewer", arguments, kMaxDevices);
  return gpus;
}

std::string cuda_module_path() {
  std::error_code error;
  auto const program = std::filesystem::read_symlink("/proc/self/exe", error);
  return (program.parent_path().parent_path() / "lib" / "libstepscope-cuda.so").string();
}

Expected<OpenGpusFunction> load_cuda_module(std::string const& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return base::fail(
        "cuda: this build has no CUDA part ({} is missing): build it where the CUDA toolkit, cuDNN "
        "9 and NCCL have their headers, or use --device host",
        path);
  }

  void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    char const* const reason = ::dlerror();
    return base::fail(
        "cuda: the CUDA part cannot be loaded ({}), install Stepscope again or use --device host",
        reason != nullptr ? reason : "no reason given");
  }

  auto const open = reinterpret_cast<OpenGpusFunction>(::dlsym(module, kOpenGpusFunction));
  if (open == nullptr)
    return base::fail("{}: is not the CUDA part of this program, install Stepscope again", path);
  return open;
}

Expected<DeviceGroup> open_cuda_devices(std::string_view arguments, DeviceOptions const& options) {
  auto const gpus = parse_gpus(arguments);

  Expected<OpenGpusFunction> open = nullptr;
  Expected<void> ready;
  if (!gpus) {
    ready = base::fail_with(gpus);
  } else if (open = load_cuda_module(cuda_module_path()); !open) {
    ready = base::fail_with(open);
  }

  // Inside, the processes talk to each other: all go there, or none.
  if (options.processes != nullptr) ready = options.processes->agree(ready);
  if (!ready) return base::fail_with(ready);

  Expected<DeviceGroup> result;
  (*open)({*gpus, !arguments.empty()}, options, result);
  return result;
}

}  // namespace stepscope::workloads
