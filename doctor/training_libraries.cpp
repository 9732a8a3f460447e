// What training programs bring along: the CUDA runtime, NCCL and cuDNN; as the loader finds them,
// and inside Python's packages.
#include <array>

#include "doctor/cuda_driver.h"
#include "doctor/machine.h"

namespace stepscope::doctor {
namespace {

/// One library, wherever it is.
struct Found {
  Library library;
  std::string where;  ///< its path
};

/// The loader's first, then those of Python's packages; each file once.
std::vector<Found> find_all(Places const& places, std::vector<std::string> const& sonames) {
  std::vector<Found> result;
  auto const add = [&](std::string const& name) {
    auto const library = Library::open(places, name);
    if (!library) return false;
    for (Found const& known : result)
      if (known.where == library->path()) return true;
    result.push_back({*library, library->path()});
    return true;
  };

  for (std::string const& soname : sonames)
    if (add(soname)) break;
  for (std::string const& folder : python_library_folders(places))
    for (std::string const& soname : sonames)
      if (exists({}, folder + "/" + soname)) add(folder + "/" + soname);

  return result;
}

/// Where nothing was found it matters only to machines that could use it.
std::vector<Check> none(Places const& places, char const* name, char const* fix) {
  if (!has_gpu(places)) return {};
  return {{name, Verdict::kGood,
           fmt::format("none that the loader finds or that Python has: {}", fix), ""}};
}

int driver_cuda_version(Places const& places) {
  int version = 0;
  if (auto const driver = load_cuda_driver(places)) driver->driver_version(&version);
  return version;
}

/// A fault that users reported, of one version up to before another one.
struct LibraryFault {
  int first, fixed;
  char const* what;
};

/// Reports name the version that has a fault. Where none is named that mends it, it ends with the
/// next one.
constexpr std::array kNcclFaults = {
    LibraryFault{22'809, 22'810,
                 "NCCL's own inspector plugin may crash programs (nccl#1992): leave it out"},
    LibraryFault{23'003, 23'004,
                 "all-to-all over several nodes may crash with a profiler plugin (nccl#2112): "
                 "record with --nccl calls or --nccl off"},
    LibraryFault{23'102, 23'103, "a profiler plugin costs small all-reduces 4 to 13 % (nccl#2355)"},
};

/// Version numbers of cuDNN 9: 91801 = 9.18.1.
constexpr std::array kCudnnFaults = {
    LibraryFault{91'801, 91'802,
                 "plans of convolutions keep their memory until the program ends: a memory account "
                 "shows it as a leak"},
};

template <size_t N>
void add_faults(std::array<LibraryFault, N> const& faults, int version, Check& check) {
  for (LibraryFault const& fault : faults) {
    if (version < fault.first || version >= fault.fixed) continue;
    check.verdict = Verdict::kWarning;
    check.found += fmt::format(". Known of it: {}", fault.what);
    check.fix = "use another version if this concerns you";
  }
}

/// 22703 → "2.27.3".
std::string nccl_version(int version) {
  return fmt::format("{}.{}.{}", version / 10'000, version / 100 % 100, version % 100);
}

Check describe_nccl(Found const& found) {
  constexpr int kFirstWithPlugins = 22'300, kNewestKnown = 23'099;
  int (*get_version)(int* version) = nullptr;
  int version = 0;
  if (!found.library.find("ncclGetVersion", get_version) || get_version(&version) != 0)
    return {"NCCL", Verdict::kWarning, found.where + ": tells no version",
            "install NCCL 2.23 or newer"};

  Check check{"NCCL", Verdict::kGood, fmt::format("{}, {}", nccl_version(version), found.where),
              ""};

  if (version < kFirstWithPlugins) {
    check.verdict = Verdict::kWarning;
    check.found += ": knows no profiler plugins, its collectives are seen as kernels without sizes";
    check.fix = "use NCCL 2.23 or newer";
  } else if (version > kNewestKnown) {
    check.found += ": newer than those that the plugin was made after (2.23 to 2.30)";
  }

  add_faults(kNcclFaults, version, check);
  return check;
}

}  // namespace

std::vector<Check> check_cuda_runtime(Places const& places) {
  constexpr int kPerMajor = 1000;
  int const driver = driver_cuda_version(places);
  std::vector<Check> checks;

  for (Found const& found : find_all(places, {"libcudart.so.13", "libcudart.so.12"})) {
    int (*get_version)(int* version) = nullptr;
    int version = 0;
    if (found.library.find("cudaRuntimeGetVersion", get_version)) get_version(&version);
    Check check{"CUDA runtime", Verdict::kGood,
                fmt::format("{}, {}", cuda_version(version), found.where), ""};

    if (driver > 0 && version / kPerMajor > driver / kPerMajor) {
      check.verdict = Verdict::kWarning;
      check.found += fmt::format(": the driver knows CUDA {} at most", cuda_version(driver));
      check.fix = "install a newer driver, or programs built with an older CUDA";
    }
    checks.push_back(check);
  }

  return checks.empty() ? none(places, "CUDA runtime",
                               "programs that are linked with it or bring it work all the same")
                        : checks;
}

std::vector<Check> check_nccl(Places const& places) {
  std::vector<Check> checks;
  for (Found const& found : find_all(places, {"libnccl.so.2"}))
    checks.push_back(describe_nccl(found));
  return checks.empty() ? none(places, "NCCL", "what trains on several GPUs needs it") : checks;
}

std::vector<Check> check_cudnn(Places const& places) {
  std::vector<Check> checks;
  for (Found const& found : find_all(places, {"libcudnn.so.9"})) {
    size_t (*get_version)() = nullptr;

    size_t const version = found.library.find("cudnnGetVersion", get_version) ? get_version() : 0;
    // 91200 = 9.12.0
    Check check{"cuDNN", Verdict::kGood,
                fmt::format("{}.{}.{}, {}", version / 10'000, version / 100 % 100, version % 100,
                            found.where),
                ""};
    add_faults(kCudnnFaults, static_cast<int>(version), check);
    checks.push_back(std::move(check));
  }

  return checks.empty() ? none(places, "cuDNN", "convolutions on GPUs need version 9") : checks;
}

}  // namespace stepscope::doctor
