// What training programs bring along: the CUDA runtime, cuBLASLt, cuDNN and NCCL; where the bundled
// workloads look for them.
#include <algorithm>
#include <array>
#include <filesystem>
#include <span>

#include "doctor/cuda_driver.h"
#include "doctor/library_search.h"
#include "doctor/machine.h"
#include "trace/base/files/shared_library.h"
#include "workloads/backend/vendor_functions.h"

namespace stepscope::doctor {
namespace {

/// A library that the bundled workloads find at run time.
struct TrainingLibrary {
  char const* name;
  std::span<char const* const> sonames;    ///< best first
  std::span<char const* const> functions;  ///< that they call
  char const* advice;                      ///< what to install
  char const* affected;                    ///< while it is missing or cannot be used
  bool is_for_several_gpus = false;        ///< one alone works without it
};

constexpr std::array kCublasLtSonames = {"libcublasLt.so.13", "libcublasLt.so.12"};
constexpr std::array kCudnnSonames = {"libcudnn.so.9"};
constexpr std::array kNcclSonames = {"libnccl.so.2"};

#define STEPSCOPE_NAME(member, function) #function,
constexpr std::array kCublasLtFunctions = {STEPSCOPE_CUBLASLT_FUNCTIONS(STEPSCOPE_NAME)};
constexpr std::array kCudnnFunctions = {STEPSCOPE_CUDNN_FUNCTIONS(STEPSCOPE_NAME)};
constexpr std::array kNcclFunctions = {STEPSCOPE_NCCL_FUNCTIONS(STEPSCOPE_NAME)};
#undef STEPSCOPE_NAME

constexpr char const* kNoWorkloadOnCuda =
    "until then no bundled workload runs with --device cuda (run, profile, tune, selftest); "
    "programs that bring their own, as PyTorch does, are recorded as before";

constexpr TrainingLibrary kCublasLt = {
    "cuBLASLt", kCublasLtSonames, kCublasLtFunctions,
    "install the CUDA toolkit (or python3 -m pip install nvidia-cublas)", kNoWorkloadOnCuda};

constexpr TrainingLibrary kCudnn = {"cuDNN", kCudnnSonames, kCudnnFunctions,
                                    "install cuDNN 9 (python3 -m pip install nvidia-cudnn-cu13)",
                                    kNoWorkloadOnCuda};

constexpr TrainingLibrary kNccl = {
    "NCCL",
    kNcclSonames,
    kNcclFunctions,
    "install NCCL 2.23 or newer (python3 -m pip install nvidia-nccl-cu13)",
    "until then a bundled workload's GPUs exchange data by slower kernels of Stepscope, and "
    "several processes do not train together; programs with an NCCL of their own are recorded",
    true};

int driver_cuda_version(Places const& places) {
  int version = 0;
  if (auto const driver = load_cuda_driver(places)) driver->driver_version(&version);
  return version;
}

void warn(std::string const& what, std::string const& fix, Check& check) {
  check.verdict = Verdict::kWarning;
  check.found += what;
  if (check.fix.find(fix) != std::string::npos) return;
  check.fix += (check.fix.empty() ? "" : "; ") + fix;
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
    warn(fmt::format(". Known of it: {}", fault.what), "use another version if this concerns you",
         check);
  }
}

std::string how_to_mend(TrainingLibrary const& library) {
  return fmt::format("{}: {}", library.advice, library.affected);
}

/// The file is of another library, of another version, or half of one.
void look_at_file(TrainingLibrary const& library, Library const& file, Check& check) {
  std::string const own_name = file.soname();
  bool const fits = own_name.empty() || std::find(library.sonames.begin(), library.sonames.end(),
                                                  own_name) != library.sonames.end();
  if (!fits)
    warn(": the file calls itself " + own_name + ", it is of another library or version",
         how_to_mend(library), check);

  std::vector<char const*> missing;
  for (char const* const function : library.functions)
    if (!file.has(function)) missing.push_back(function);
  if (missing.empty()) return;

  std::string what = fmt::format(": has no {}", missing.front());
  if (missing.size() > 1) what += fmt::format(" and {} more", missing.size() - 1);
  what += fmt::format(" of the {} functions that bundled workloads call", library.functions.size());
  warn(what, how_to_mend(library), check);
}

/// `runtime`: that the library is made for.
void look_at_driver(int runtime, Places const& places, Check& check) {
  constexpr int kPerMajor = 1000;
  int const driver = driver_cuda_version(places);
  if (driver == 0 || runtime / kPerMajor <= driver / kPerMajor) return;
  warn(fmt::format(": the driver knows CUDA {} at most", cuda_version(driver)),
       "install a newer driver, or programs built with an older CUDA", check);
}

/// 0: the library has no such function.
int number_from(Library const& library, char const* function) {
  size_t (*get)() = nullptr;
  return library.find(function, get) ? static_cast<int>(get()) : 0;
}

bool has_several_gpus(Places const& places) {
  auto const driver = load_cuda_driver(places);
  return driver && cuda_devices(*driver).size() > 1;
}

Check describe_missing(TrainingLibrary const& library, LibrarySearch const& search,
                       Places const& places) {
  Check check{library.name, Verdict::kGood,
              fmt::format("no {} in the loader's folders, a CUDA toolkit or Python's packages",
                          library.sonames.front()),
              ""};
  if (!search.other_majors.empty())
    check.found += fmt::format(", only another version: {}", search.other_majors.front());

  if (library.is_for_several_gpus && !has_several_gpus(places))
    check.found += ": what trains on several GPUs needs it";
  else
    warn("", how_to_mend(library), check);
  return check;
}

/// `describe`: what the file says of itself, as a line of version and path.
template <class Describe>
std::vector<Check> check_library(TrainingLibrary const& library, Places const& places,
                                 Describe const& describe) {
  LibrarySearch const search = find_library(places, library.sonames);
  std::vector<Check> checks;

  for (std::string const& reason : search.broken) {
    std::string const fix = search.found.empty()
                                ? how_to_mend(library)
                                : "install its package again, or remove the file: programs that "
                                  "find it first end there";
    checks.push_back({library.name, Verdict::kWarning, reason, fix});
  }

  for (FoundLibrary const& found : search.found) {
    Check check = describe(found);
    look_at_file(library, found.library, check);
    checks.push_back(std::move(check));
  }

  if (checks.empty() && has_gpu(places))
    checks.push_back(describe_missing(library, search, places));
  return checks;
}

/// A line with the version of a library that each major version of CUDA has anew.
Check describe(TrainingLibrary const& library, FoundLibrary const& found, int runtime,
               std::string const& version, Places const& places) {
  std::string const made_for =
      runtime > 0 ? fmt::format(" for CUDA {}", cuda_version(runtime)) : "";
  Check check{library.name, Verdict::kGood, fmt::format("{}{}, {}", version, made_for, found.where),
              ""};
  look_at_driver(runtime, places, check);
  return check;
}

/// 22703, divided by 100, → "2.27.3".
std::string version_text(int version, int per_major) {
  return fmt::format("{}.{}.{}", version / per_major, version % per_major / 100, version % 100);
}

Check describe_cublaslt(FoundLibrary const& found, Places const& places) {
  // 130100 = 13.1.0
  constexpr int kPerMajor = 10'000, kOldest = 12, kNewest = 13;
  int const version = number_from(found.library, "cublasLtGetVersion");
  Check check = describe(kCublasLt, found, number_from(found.library, "cublasLtGetCudartVersion"),
                         version > 0 ? version_text(version, kPerMajor) : "no version", places);

  int const major = version / kPerMajor;
  if (version > 0 && (major < kOldest || major > kNewest))
    warn(": bundled workloads are made for cuBLASLt 12 and 13", how_to_mend(kCublasLt), check);
  return check;
}

/// Version 9 is a small library that loads its parts when they are first needed, in the midst of a
/// training.
void look_at_parts_of_cudnn(std::string const& where, Check& check) {
  constexpr std::array kParts = {
      "ops", "cnn", "graph", "engines_precompiled", "engines_runtime_compiled", "heuristic"};
  std::string const folder = std::filesystem::path(where).parent_path().string();
  std::vector<std::string> missing;

  for (char const* const part : kParts) {
    std::string const path = fmt::format("{}/libcudnn_{}.so.9", folder, part);
    if (!exists({}, path)) {
      missing.push_back(path);
    } else if (auto const whole = base::check_shared_library(path, {}); !whole) {
      warn(". Its part " + whole.error().message, how_to_mend(kCudnn), check);
    }
  }

  // One library that has no parts, or has them elsewhere.
  if (missing.empty() || missing.size() == kParts.size()) return;
  warn(". Its part " + missing.front() + " is missing", how_to_mend(kCudnn), check);
}

Check describe_cudnn(FoundLibrary const& found, Places const& places) {
  // 91900 = 9.19.0, and up to version 8 8905 = 8.9.5
  constexpr int kPerMajor = 10'000, kPerOldMajor = 1'000, kMajor = 9;
  int const version = number_from(found.library, "cudnnGetVersion");
  int const per_major = version < kPerMajor ? kPerOldMajor : kPerMajor;
  Check check = describe(kCudnn, found, number_from(found.library, "cudnnGetCudartVersion"),
                         version > 0 ? version_text(version, per_major) : "no version", places);

  if (version > 0 && version / per_major != kMajor)
    warn(": bundled workloads are made for cuDNN 9", how_to_mend(kCudnn), check);
  look_at_parts_of_cudnn(found.where, check);
  add_faults(kCudnnFaults, version, check);
  return check;
}

Check describe_nccl(FoundLibrary const& found) {
  constexpr int kFirstWithPlugins = 22'300, kNewestKnown = 23'099;
  int (*get_version)(int* version) = nullptr;
  int version = 0;
  if (!found.library.find("ncclGetVersion", get_version) || get_version(&version) != 0)
    return {"NCCL", Verdict::kWarning, found.where + ": tells no version", how_to_mend(kNccl)};

  constexpr int kPerMajor = 10'000;
  Check check{"NCCL", Verdict::kGood,
              fmt::format("{}, {}", version_text(version, kPerMajor), found.where), ""};

  if (version < kFirstWithPlugins)
    warn(": knows no profiler plugins, its collectives are seen as kernels without sizes",
         "use NCCL 2.23 or newer", check);
  else if (version > kNewestKnown)
    check.found += ": newer than those that the plugin was made after (2.23 to 2.30)";

  add_faults(kNcclFaults, version, check);
  return check;
}

}  // namespace

std::vector<Check> check_cuda_runtime(Places const& places) {
  constexpr std::array kSonames = {"libcudart.so.13", "libcudart.so.12"};
  LibrarySearch const search = find_library(places, kSonames);
  std::vector<Check> checks;

  for (std::string const& reason : search.broken)
    checks.push_back({"CUDA runtime", Verdict::kWarning, reason,
                      "install its package again: programs that find this file do not start"});
  for (FoundLibrary const& found : search.found) {
    int (*get_version)(int* version) = nullptr;
    int version = 0;
    if (found.library.find("cudaRuntimeGetVersion", get_version)) get_version(&version);
    Check check{"CUDA runtime", Verdict::kGood,
                fmt::format("{}, {}", cuda_version(version), found.where), ""};
    look_at_driver(version, places, check);
    checks.push_back(check);
  }

  if (checks.empty() && has_gpu(places))
    checks.push_back({"CUDA runtime", Verdict::kGood,
                      "none that the loader finds or that Python has: programs that are linked "
                      "with it or bring it work all the same",
                      ""});
  return checks;
}

std::vector<Check> check_cublaslt(Places const& places) {
  return check_library(kCublasLt, places,
                       [&](FoundLibrary const& found) { return describe_cublaslt(found, places); });
}

std::vector<Check> check_cudnn(Places const& places) {
  return check_library(kCudnn, places,
                       [&](FoundLibrary const& found) { return describe_cudnn(found, places); });
}

std::vector<Check> check_nccl(Places const& places) {
  return check_library(kNccl, places, describe_nccl);
}

}  // namespace stepscope::doctor
