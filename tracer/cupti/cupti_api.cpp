#include "tracer/cupti/cupti_api.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include <dlfcn.h>
#include <link.h>

#include "trace/base/files/shared_library.h"

namespace stepscope::tracer {
namespace {

using base::Expected;
using base::fail;

/// CUPTI's majors that are looked for, newest first.
constexpr std::array<int, 2> kMajors = {13, 12};

std::string soname(int major) { return fmt::format("libcupti.so.{}", major); }

/// What the process's CUDA libraries say of where CUPTI may be and which one fits.
struct CudaInProcess {
  std::vector<std::string> folders;
  std::optional<int> runtime_major;
};

void note_cuda_library(std::filesystem::path const& path, CudaInProcess& found) {
  std::string const name = path.filename().string();
  constexpr std::string_view kRuntime = "libcudart.so.";
  if (!name.starts_with("libcudart.so") && !name.starts_with("libcublas")) return;
  std::string folder = path.parent_path().string();
  if (std::find(found.folders.begin(), found.folders.end(), folder) == found.folders.end())
    found.folders.push_back(std::move(folder));
  if (name.starts_with(kRuntime)) found.runtime_major = std::atoi(name.c_str() + kRuntime.size());
}

CudaInProcess find_cuda_libraries() {
  CudaInProcess found;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* into) {
        if (info->dlpi_name != nullptr && *info->dlpi_name != '\0')
          note_cuda_library(info->dlpi_name, *static_cast<CudaInProcess*>(into));
        return 0;
      },
      &found);
  return found;
}

/// Newest version of CUDA that the driver of this process supports; 0 = there is no driver.
int driver_version() {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return 0;
  auto const get_version = reinterpret_cast<int (*)(int*)>(::dlsym(driver, "cuDriverGetVersion"));
  int version = 0;
  if (get_version != nullptr) get_version(&version);
  ::dlclose(driver);
  return version;
}

int driver_major() {
  constexpr int kPerMajor = 1000;
  return driver_version() / kPerMajor;
}

/// A CUPTI fits CUDA of its own major, and does not work with an older driver.
std::vector<int> majors_to_try(std::optional<int> runtime_major) {
  int preferred = runtime_major.value_or(0);
  if (int const driver = driver_major(); preferred == 0 || (driver != 0 && driver < preferred))
    preferred = driver;
  std::vector<int> result(kMajors.begin(), kMajors.end());
  std::stable_partition(result.begin(), result.end(),
                        [&](int major) { return major == preferred; });
  return result;
}

template <class Function>
bool find_symbol(void* library, char const* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

/// Null when the process has no driver.
decltype(&cuCtxGetCurrent) find_current_context() {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return nullptr;
  auto const function =
      reinterpret_cast<decltype(&cuCtxGetCurrent)>(::dlsym(driver, "cuCtxGetCurrent"));
  ::dlclose(driver);  // who loaded it keeps it
  return function;
}

/// Functions that are missing stay null.
void fill(void* library, SubscriberApi& api) {
  find_symbol(library, "cuptiSubscribe_v2", api.subscribe);
  find_symbol(library, "cuptiActivityRegisterCallbacks_v2", api.register_callbacks);
  find_symbol(library, "cuptiActivityEnable_v2", api.enable);
  find_symbol(library, "cuptiActivityDisable_v2", api.disable);
  find_symbol(library, "cuptiActivitySetAttribute_v2", api.set_attribute);
  find_symbol(library, "cuptiActivityGetAttribute_v2", api.get_attribute);
  find_symbol(library, "cuptiGetTimestamp_v2", api.get_timestamp);
  find_symbol(library, "cuptiActivityGetNextRecord_v2", api.get_next_record);

  find_symbol(library, "cuptiActivityGetNumDroppedRecords_v2", api.get_num_dropped_records);
  find_symbol(library, "cuptiActivityEnableRuntimeApi_v2", api.enable_runtime_api);
  find_symbol(library, "cuptiActivityEnableDriverApi_v2", api.enable_driver_api);
}

/// The first entry point that is missing, or null.
char const* fill(void* library, CuptiApi& api) {
  char const* missing = nullptr;
  auto const need = [&](char const* name, auto& function) {
    if (!find_symbol(library, name, function) && missing == nullptr) missing = name;
  };

  need("cuptiGetVersion", api.get_version);
  need("cuptiGetResultString", api.get_result_string);
  need("cuptiGetCallbackName", api.get_callback_name);
  need("cuptiSubscribe", api.subscribe);
  need("cuptiUnsubscribe", api.unsubscribe);
  need("cuptiEnableCallback", api.enable_callback);
  need("cuptiEnableDomain", api.enable_domain);
  need("cuptiSetThreadIdType", api.set_thread_id_type);
  need("cuptiActivitySetAttribute", api.set_attribute);
  need("cuptiGetTimestamp", api.get_timestamp);
  need("cuptiActivityRegisterTimestampCallback", api.register_timestamp_callback);
  need("cuptiActivityRegisterCallbacks", api.register_callbacks);
  need("cuptiActivityEnable", api.enable);
  need("cuptiActivityDisable", api.disable);
  need("cuptiActivityGetNextRecord", api.get_next_record);
  need("cuptiActivityGetNumDroppedRecords", api.get_num_dropped_records);
  need("cuptiActivityFlushAll", api.flush_all);
  need("cuptiFinalize", api.finalize);

  // Optional: null where this CUPTI lacks the function.
  find_symbol(library, "cuptiActivityEnableRuntimeApi", api.enable_runtime_api);
  find_symbol(library, "cuptiActivityEnableDriverApi", api.enable_driver_api);
  find_symbol(library, "cuptiActivityEnableHWTrace", api.enable_hw_trace);
  find_symbol(library, "cuptiActivityEnableAllSyncRecords", api.enable_all_sync_records);
  find_symbol(library, "cuptiGetContextId", api.get_context_id);
  find_symbol(library, "cuptiGetStreamIdEx", api.get_stream_id);
  api.get_current_context = find_current_context();
  fill(library, api.of_subscriber);
  return missing;
}

std::string path_of(CuptiApi const& api, std::string const& asked_for) {
  Dl_info info{};
  bool const known =
      ::dladdr(reinterpret_cast<void*>(api.get_version), &info) != 0 && info.dli_fname != nullptr;
  return known ? info.dli_fname : asked_for;
}

Expected<CuptiLibrary> use(void* library, std::string const& name) {
  CuptiLibrary result;
  if (char const* const missing = fill(library, result.api); missing != nullptr)
    return fail("{}: has no {}, set {} to the libcupti.so of CUDA 12 or newer", name, missing,
                kCuptiVariable);

  result.path = path_of(result.api, name);

  if (result.api.get_version(&result.version) != CUPTI_SUCCESS ||
      result.version < kOldestCuptiVersion)
    return fail("{}: is CUPTI API version {}, set {} to the libcupti.so of CUDA 12 or newer",
                result.path, result.version, kCuptiVariable);

  result.driver_version = driver_version();
  return result;
}

Expected<CuptiLibrary> open(std::string const& name) {
  // The loader would end the program that is recorded.
  if (auto const whole = base::check_shared_library(name, base::library_folders()); !whole)
    return base::fail_with(whole);

  void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    char const* const reason = ::dlerror();
    return fail("{}: cannot be loaded ({}), set {} to the libcupti.so of your CUDA toolkit", name,
                reason != nullptr ? reason : "no reason given", kCuptiVariable);
  }
  return use(library, name);
}

/// Whether the loader found no file of that name, as its message says: not one that cannot be used.
bool is_absent(std::string const& name, std::string const& message) {
  return message.find(name + ": cannot open shared object file: No such file") != std::string::npos;
}

}  // namespace

std::vector<std::string> cupti_candidates(int major, std::vector<std::string> const& cuda_folders) {
  // From the folder of libcudart: a toolkit's lib64, Python's nvidia/cu13/lib, Python's
  // nvidia/cuda_runtime/lib.
  constexpr std::array<char const*, 3> kBeside = {"", "../extras/CUPTI/lib64/",
                                                  "../../cuda_cupti/lib/"};

  constexpr std::array<char const*, 3> kToolkit = {"/usr/local/cuda/extras/CUPTI/lib64/",
                                                   "/usr/local/cuda/lib64/",
                                                   "/usr/local/cuda/targets/x86_64-linux/lib/"};

  std::vector<std::string> result;
  for (std::string const& folder : cuda_folders)
    for (char const* const beside : kBeside)
      result.push_back(folder + "/" + beside + soname(major));
  result.push_back(soname(major));
  for (char const* const folder : kToolkit) result.push_back(folder + soname(major));
  return result;
}

Expected<CuptiLibrary> load_cupti() {
  if (char const* const chosen = std::getenv(kCuptiVariable); chosen != nullptr && *chosen != '\0')
    return open(chosen);

  CudaInProcess const cuda = find_cuda_libraries();
  std::vector<int> const majors = majors_to_try(cuda.runtime_major);

  for (int const major : majors) {
    if (void* const present = ::dlopen(soname(major).c_str(), RTLD_NOW | RTLD_NOLOAD);
        present != nullptr)
      return use(present, soname(major));
  }

  std::string tried;
  std::string unusable;
  for (int const major : majors) {
    for (std::string const& candidate : cupti_candidates(major, cuda.folders)) {
      auto library = open(candidate);
      if (library) return library;
      std::string const& reason = library.error().message;
      if (unusable.empty() && !is_absent(candidate, reason)) unusable = reason;
      tried += (tried.empty() ? "" : ", ") + candidate;
    }
  }

  if (!unusable.empty()) return fail("{} (no other CUPTI was found)", unusable);
  return fail(
      "CUPTI was not found (tried {}), install the CUDA toolkit's CUPTI or set {} to its "
      "libcupti.so",
      tried, kCuptiVariable);
}

std::string describe_cupti_error(CuptiApi const& api, std::string_view call, CUptiResult result,
                                 std::string_view other_tool) {
  constexpr std::array<std::pair<CUptiResult, std::string_view>, 5> kWhatToDo = {{
      {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
       "another profiler holds CUPTI in this process: stop it (torch.profiler, Nsight, cuda-gdb) "
       "and record again; tools that use cuptiSubscribe_v2 record side by side from CUDA 13.3 and "
       "driver 610 on"},
      {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
       "the driver lets only root profile: load it with NVreg_RestrictProfilingToAdminUsers=0, or "
       "record as root"},
      {CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES,
       "the virtual GPU does not allow profiling: enable it in the settings of the virtual "
       "machine"},
      {CUPTI_ERROR_NOT_INITIALIZED,
       "the CUDA driver does not work in this process: look at what nvidia-smi says"},
      {CUPTI_ERROR_UNKNOWN,
       "the CUDA driver does not work in this process: look at what nvidia-smi says"},
  }};

  char const* name = nullptr;
  if (api.get_result_string(result, &name) != CUPTI_SUCCESS || name == nullptr)
    name = "unknown error";
  std::string text = fmt::format("{} failed with {} ({})", call, name, static_cast<int>(result));

  if (!other_tool.empty()) text += fmt::format(" because of \"{}\"", other_tool);
  for (auto const& [error, advice] : kWhatToDo)
    if (error == result) text.append(", ").append(advice);
  return text;
}

}  // namespace stepscope::tracer
