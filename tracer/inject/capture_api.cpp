// What tracer/api/capture.h calls: a program starts and stops its own recording, under `stepscope
// record` or without.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dlfcn.h>

#include "trace/base/files/run_folder.h"
#include "tracer/core/options.h"
#include "tracer/core/session.h"
#include "tracer/inject/process.h"

extern "C" {
__attribute__((visibility("default"))) int stepscope_start_capture(char const* folder);
__attribute__((visibility("default"))) int stepscope_start_window(char const* folder);
__attribute__((visibility("default"))) int stepscope_stop_capture();
__attribute__((visibility("default"))) int stepscope_stop_window();
__attribute__((visibility("default"))) char const* stepscope_capture_error();
}

namespace stepscope::tracer {
namespace {

namespace fs = std::filesystem;

constexpr char const* kDefaultFolder = "stepscope-run";
constexpr int kNotInitialized = 3;  // CUDA_ERROR_NOT_INITIALIZED

/// Why the last call failed. Texts are kept for ever, as who reads one may do so while another call
/// fails: there are few different ones.
std::atomic<char const*>& last_error() {
  static auto* const text = new std::atomic<char const*>("");
  return *text;
}

bool fails(std::string reason) {
  static auto* const all = new std::set<std::string>;
  last_error() = all->insert(std::move(reason)).first->c_str();
  return false;
}

/// A variable that set_environment() has set, in a process that started its recording itself.
struct OwnVariable {
  char const* name;
  std::optional<std::string> before;
};

std::vector<OwnVariable>& own_variables() {
  static auto* const variables = new std::vector<OwnVariable>;
  return *variables;
}

void set_variable(char const* name, std::string const& value) {
  char const* const before = std::getenv(name);
  own_variables().push_back(
      {name, before != nullptr ? std::optional<std::string>(before) : std::nullopt});
  ::setenv(name, value.c_str(), 1);
}

/// The plugin that the user chose gets NCCL's calls from ours, but for "none" and for a recording
/// that leaves NCCL out.
void set_nccl_plugin(char const* own_library) {
  constexpr char const* kPlugin = "NCCL_PROFILER_PLUGIN";
  char const* const text = std::getenv(kPlugin);
  std::string const chosen = text != nullptr ? text : "";
  char const* const detail = std::getenv(kNcclVariable);
  bool const is_off = detail != nullptr && std::string_view(detail) == "off";
  if (!chosen.empty() && (means_no_nccl_plugin(chosen) || is_off)) return;

  set_variable(kPlugin, own_library);
  if (!chosen.empty()) set_variable(kOtherNcclPluginVariable, chosen);
}

enum class Parts : uint8_t { kOne, kMany };

/// As `stepscope record --from-code` sets it, for the libraries that look for it from now on.
/// Children record what they ask for themselves.
void set_environment(std::string const& folder, Parts parts) {
  Dl_info self{};
  ::dladdr(reinterpret_cast<void const*>(&stepscope_start_capture), &self);

  for (char const* const variable : {"NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH"}) {
    char const* const text = std::getenv(variable);
    bool const is_free = text == nullptr || *text == '\0';  // else another tool's
    if (is_free && self.dli_fname != nullptr) set_variable(variable, self.dli_fname);
  }
  if (self.dli_fname != nullptr) set_nccl_plugin(self.dli_fname);

  set_variable(kOutputVariable, folder);
  set_variable(kFromCodeVariable, parts == Parts::kMany ? std::string(kRepeats) : "1");
}

/// Programs that are started from now on have nothing of us.
void restore_environment() {
  for (OwnVariable const& variable : std::exchange(own_variables(), {})) {
    if (variable.before)
      ::setenv(variable.name, variable.before->c_str(), 1);
    else
      ::unsetenv(variable.name);
  }
}

/// As the program named the folder of its windows, which may go to another one meanwhile.
std::string& folder_as_named() {
  static auto* const text = new std::string;
  return *text;
}

std::string path_of(std::string const& folder) {
  std::error_code error;
  std::string path = fs::absolute(folder, error).lexically_normal().string();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

bool prepare_own_run(std::string const& path, Parts parts) {
  std::error_code error;
  auto const made = base::prepare_shared_run_folder(path, false, is_own_run_file);
  if (!made) {
    bool const is_used = fs::is_directory(path, error) && !fs::is_empty(path, error);
    return fails(is_used ? path + ": exists and is not empty, choose another folder"
                         : made.error().message);
  }

  set_environment(path, parts);
  return true;
}

/// The driver calls us when it is initialized; when it was before, no call comes.
bool driver_is_initialized() {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return false;
  auto const get_context = reinterpret_cast<int (*)(void**)>(::dlsym(driver, "cuCtxGetCurrent"));
  void* context = nullptr;
  bool const is_initialized = get_context != nullptr && get_context(&context) != kNotInitialized;
  ::dlclose(driver);
  return is_initialized;
}

/// Errors: another folder than that of the first window.
bool is_folder_of_run(std::string const& named, Session const& session) {
  bool const is_own = !own_variables().empty();
  if (!is_own || named == folder_as_named() || path_of(named) == session.options().folder)
    return true;
  return fails(fmt::format("{}: all windows of a process go to one folder, which is {}",
                           path_of(named), session.options().folder));
}

bool start_capture(char const* folder, Parts parts) {
  std::string const named = folder == nullptr || *folder == '\0' ? kDefaultFolder : folder;
  if (current_session() == nullptr && !options_from_environment()) {
    folder_as_named() = named;
    if (!prepare_own_run(path_of(named), parts)) return false;
  }

  Session* const session = start_process_session();
  if (session == nullptr) return fails("nothing can be recorded in this process");
  if (folder != nullptr && !is_folder_of_run(named, *session)) return false;

  // What is recorded was chosen outside of the program: steps, a range, a request, or all of it.
  if (!session->options().window.from_code) return !session->is_over();
  bool const opens = session->window().open_from_code();
  if (driver_is_initialized()) cuda_starts();
  if (opens) return true;

  bool const has_failed = session->is_over() && !session->report().failure.empty();
  return fails(has_failed ? session->message()
                          : "recording has ended: it can be started once in a process, or often "
                            "under stepscope record --from-code --repeat");
}

/// What the variables are for goes on until the process ends.
bool stop_one_of_many(Session& session) {
  if (session.window().has_never_opened()) return fails("no window was open");
  if (!session.close_window(kStopTimeout)) return fails(std::string(kUnfinishedMessage));
  return !session.is_over() || session.report().failure.empty() || fails(session.message());
}

bool stop_capture() {
  Session* const session = current_session();
  if (session == nullptr) return fails("nothing was recorded in this process");
  if (session->options().window.code_repeats) return stop_one_of_many(*session);
  restore_environment();
  if (!session->end_window(kStopTimeout)) return fails(std::string(kUnfinishedMessage));
  return session->report().failure.empty() || fails(session->message());
}

/// A recording that windows have not opened, that of the whole program, goes on.
bool stop_window() {
  Session* const session = current_session();
  bool const is_opened_from_code = session == nullptr || session->options().window.from_code;
  return is_opened_from_code ? stop_capture() : true;
}

/// A forked child makes a new one: the parent's may have been held then.
std::atomic<std::mutex*> one_call_at_a_time{new std::mutex};

/// Nothing is thrown into a C program.
template <class Call>
int one_call(Call const& call) noexcept {
  try {
    std::lock_guard const lock(*one_call_at_a_time.load());
    last_error() = "";
    return call() ? 1 : 0;
  } catch (...) {
    return 0;
  }
}

}  // namespace

void renew_capture_calls() { one_call_at_a_time = new std::mutex; }

}  // namespace stepscope::tracer

int stepscope_start_capture(char const* folder) {
  using namespace stepscope::tracer;
  return one_call([&] { return start_capture(folder, Parts::kOne); });
}
int stepscope_start_window(char const* folder) {
  using namespace stepscope::tracer;
  return one_call([&] { return start_capture(folder, Parts::kMany); });
}
int stepscope_stop_capture() {
  return stepscope::tracer::one_call([] { return stepscope::tracer::stop_capture(); });
}
int stepscope_stop_window() {
  return stepscope::tracer::one_call([] { return stepscope::tracer::stop_window(); });
}
/// Why the last of the calls returned 0; empty where it did not.
char const* stepscope_capture_error() { return stepscope::tracer::last_error().load(); }
