// The NVIDIA driver and its devices. On a machine without an NVIDIA device one line says so, and
// what works there.
#include <array>

#include <unistd.h>

#include "doctor/cuda_driver.h"
#include "doctor/machine.h"
#include "trace/base/format.h"

namespace stepscope::doctor {
namespace {

constexpr char const* kDriverVersionFile = "/proc/driver/nvidia/version";

/// "580.65.06" of "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release
/// Build …": the first word of digits and dots that has a dot.
std::string module_version(Places const& places) {
  std::string const text = read_entry(places, kDriverVersionFile, "NVRM version").value_or("");

  for (size_t begin = 0; begin < text.size();) {
    size_t const end = std::min(text.find(' ', begin), text.size());
    std::string const word = text.substr(begin, end - begin);
    if (word.find('.') != std::string::npos &&
        word.find_first_not_of("0123456789.") == std::string::npos)
      return word;
    begin = end + 1;
  }

  return {};
}

Check no_driver_library(Places const& places, std::string const& reason) {
  Check check{"driver", Verdict::kFailure,
              "there is an NVIDIA device, but libcuda.so.1 cannot be loaded: " + reason, ""};
  check.fix = module_version(places).empty()
                  ? "install the NVIDIA driver (nvidia-smi must list the GPU)"
                  : "the kernel module is loaded, its library is missing here: start the container "
                    "with --gpus all, or install the driver's libraries of the same version";
  return check;
}

std::string what_to_do_about(int error) {
  constexpr int kSystemDriverMismatch = 803, kSystemNotReady = 802, kInvalidDevice = 101;
  switch (error) {
    case kCudaNoDevice:
      return "see whether CUDA_VISIBLE_DEVICES hides all devices, whether nvidia-smi lists them, "
             "and whether the user may open /dev/nvidia*";
    case kSystemDriverMismatch:
      return "the driver's library and its kernel module are of different versions: reboot, or "
             "match the container's";
    case kSystemNotReady:
      return "start the fabric manager (systemctl start nvidia-fabricmanager), which NVSwitch "
             "machines need";
    case kInvalidDevice:
      return "see whether CUDA_VISIBLE_DEVICES names devices that are there";
    default:
      return "see what nvidia-smi and dmesg say";
  }
}

Check describe_gpu(CudaDriver const& driver, int device) {
  constexpr int kMultiprocessors = 16, kComputeMode = 20, kMajor = 75, kMinor = 76;
  constexpr int kProhibited = 2;
  std::array<char, 256> name{};
  size_t memory = 0;
  int major = 0;
  int minor = 0;
  int multiprocessors = 0;
  int mode = 0;

  driver.device_name(name.data(), static_cast<int>(name.size()) - 1, device);
  driver.total_memory(&memory, device);
  driver.attribute(&major, kMajor, device);
  driver.attribute(&minor, kMinor, device);
  driver.attribute(&multiprocessors, kMultiprocessors, device);
  driver.attribute(&mode, kComputeMode, device);

  Check check{fmt::format("gpu {}", device), Verdict::kGood,
              fmt::format("{}, {}, compute capability {}.{}, {} multiprocessors", name.data(),
                          base::format_bytes(memory), major, minor, multiprocessors),
              ""};

  if (mode == kProhibited) {
    check.verdict = Verdict::kFailure;
    check.found += ", compute mode: prohibited";
    check.fix = fmt::format("nvidia-smi -i {} -c DEFAULT", device);
  }

  return check;
}

using NvmlText = int(char* text, unsigned size);

std::string nvml_text(Library const& library, char const* function) {
  NvmlText* get = nullptr;
  std::array<char, 96> text{};
  if (!library.find(function, get) || get(text.data(), static_cast<unsigned>(text.size()) - 1) != 0)
    return "unknown";
  return text.data();
}

/// "off on GPU 0, 2": the devices on which each first CUDA call waits for the driver to start them.
std::string without_persistence(Library const& library) {
  int (*count)(unsigned* devices) = nullptr;
  int (*handle)(unsigned index, void** device) = nullptr;
  int (*persistence)(void* device, int* mode) = nullptr;
  if (!library.find("nvmlDeviceGetCount_v2", count) ||
      !library.find("nvmlDeviceGetHandleByIndex_v2", handle) ||
      !library.find("nvmlDeviceGetPersistenceMode", persistence))
    return {};

  unsigned devices = 0;
  count(&devices);
  std::string off;
  for (unsigned index = 0; index < devices; ++index) {
    void* device = nullptr;
    int mode = 1;
    if (handle(index, &device) == 0 && persistence(device, &mode) == 0 && mode == 0)
      off += fmt::format(" {}", index);
  }

  return off;
}

}  // namespace

std::vector<Check> check_driver(Places const& places) {
  if (!has_gpu(places))
    return {{"gpu", Verdict::kWarning, "none: no NVIDIA device on this machine",
             "nothing, unless you expected one: host devices (--device host:2) and all that opens "
             "traces work here"}};

  auto const driver = load_cuda_driver(places);
  if (!driver) return {no_driver_library(places, driver.error().message)};
  int cuda = 0;
  driver->driver_version(&cuda);
  std::string const module = module_version(places);

  Check check{
      "driver", Verdict::kGood,
      fmt::format("{}, CUDA {}, {}", module.empty() ? "kernel module of unknown version" : module,
                  cuda_version(cuda), driver->library.path()),
      ""};

  constexpr int kOldestCuda = 12'000;
  if (int const error = driver->init(0); error != kCudaSuccess) {
    check.verdict = Verdict::kFailure;
    check.found += ": cuInit failed with " + cuda_error(*driver, error);
    check.fix = what_to_do_about(error);
  } else if (cuda < kOldestCuda) {
    check.verdict = Verdict::kWarning;
    check.found += ", older than what the tracer is made for";
    check.fix = "install driver 525 or newer";
  }

  return {check};
}

std::vector<Check> check_gpus(Places const& places) {
  if (!has_gpu(places)) return {};
  auto const driver = load_cuda_driver(places);
  if (!driver) return {};  // check_driver() reports it
  std::vector<Check> checks;
  for (int const device : cuda_devices(*driver)) checks.push_back(describe_gpu(*driver, device));
  return checks;
}

std::vector<Check> check_tested(Places const& places) {
  if (!has_gpu(places)) return {};
  // docs/design/BENCHMARKS.md, "GPU", and docs/design/cuda_doubles.md.
  return {{"tested", Verdict::kGood,
           "CUDA capture ran on one H100 with CUDA 13.0; several GPUs and other versions only over "
           "stand-ins for NVIDIA's libraries. What holds here: stepscope selftest --device cuda",
           ""}};
}

std::vector<Check> check_peer_access(Places const& places) {
  if (!has_gpu(places)) return {};
  auto const driver = load_cuda_driver(places);
  if (!driver) return {};
  std::vector<int> const devices = cuda_devices(*driver);
  if (devices.size() < 2) return {};

  std::string matrix;
  size_t pairs = 0;
  size_t missing = 0;
  for (int const from : devices) {
    matrix += matrix.empty() ? "" : " / ";
    for (int const to : devices) {
      if (from == to) {
        matrix += "·";
        continue;
      }

      int can = 0;
      driver->can_access_peer(&can, from, to);
      matrix += can != 0 ? "1" : "0";
      ++pairs;
      missing += static_cast<size_t>(can == 0);
    }
  }

  if (missing == 0)
    return {
        {"peer access", Verdict::kGood, fmt::format("between all {} GPUs", devices.size()), ""}};
  return {{"peer access", Verdict::kWarning,
           fmt::format("missing between {} of {} pairs of GPUs ({}, a row a GPU)", missing, pairs,
                       matrix),
           "see nvidia-smi topo -p2p r; without it copies and collectives go through the host's "
           "memory (in virtual machines: switch off ACS or pass the NVLinks through)"}};
}

std::vector<Check> check_permission(Places const& places) {
  if (!has_gpu(places)) return {};
  std::vector<Check> checks;

  std::vector<std::string> devices = gpu_device_files(places);
  devices.emplace_back("/dev/nvidiactl");
  for (std::string const& device : devices) {
    if (!exists(places, device) || ::access((places.root + device).c_str(), R_OK | W_OK) == 0)
      continue;
    checks.push_back({"permission", Verdict::kFailure,
                      fmt::format("{} cannot be opened by this user", device),
                      "join the group that owns it (ls -l /dev/nvidia*), or load the driver with "
                      "NVreg_DeviceFileMode=0666"});
  }

  auto const restricted = read_entry(places, "/proc/driver/nvidia/params", "RmProfilingAdminOnly");
  if (!restricted) return checks;

  std::string_view who_may_profile = "hardware counters for every user";
  if (*restricted != "0")
    who_may_profile =
        places.is_root
            ? "hardware counters for root, which is this user"
            : "hardware counters for root alone (NVreg_RestrictProfilingToAdminUsers=1): "
              "tracing of kernels, copies and calls does not need them, what samples them "
              "(Nsight Compute, GPM on some drivers) does";
  checks.push_back({"profiling permission", Verdict::kGood, std::string(who_may_profile), ""});
  return checks;
}

std::vector<Check> check_mps(Places const& places) {
  if (!has_gpu(places)) return {};
  std::string const pipes = variable(places, "CUDA_MPS_PIPE_DIRECTORY").value_or("/tmp/nvidia-mps");
  if (!exists(places, pipes + "/control")) return {};
  return {{"MPS", Verdict::kWarning, "an MPS control daemon is running (" + pipes + ")",
           "quit it for recording (echo quit | nvidia-cuda-mps-control): under MPS CUPTI needs "
           "driver 580 from CUDA 13 on, and before Hopper cooperative launches can hang while "
           "kernels are traced"}};
}

std::vector<Check> check_nvml(Places const& places) {
  if (!has_gpu(places)) return {};
  auto const library = Library::open(places, "libnvidia-ml.so.1");
  if (!library)
    return {{"NVML", Verdict::kWarning, library.error().message,
             "install the driver's libraries (libnvidia-ml.so.1): without it GPU counters "
             "(utilization, power, clocks) are not sampled"}};

  int (*init)() = nullptr;
  if (!library->find("nvmlInit_v2", init))
    return {{"NVML", Verdict::kWarning, library->path() + ": has no nvmlInit_v2",
             "install the driver again: without its NVML GPU counters are not sampled"}};

  if (int const error = init(); error != 0)
    return {{"NVML", Verdict::kWarning,
             fmt::format("nvmlInit failed with {}, {}", error, library->path()),
             "see what nvidia-smi says: without it GPU counters are not sampled"}};

  std::string found =
      fmt::format("{} of driver {}, {}", nvml_text(*library, "nvmlSystemGetNVMLVersion"),
                  nvml_text(*library, "nvmlSystemGetDriverVersion"), library->path());
  if (std::string const off = without_persistence(*library); !off.empty())
    found +=
        ", persistence mode off on GPU" + off + ": the first CUDA call of a program takes seconds";
  return {{"NVML", Verdict::kGood, found, ""}};
}

}  // namespace stepscope::doctor
