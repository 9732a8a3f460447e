#include "tracer/core/process/process_info.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/base/format.h"
#include "trace/base/host_name.h"

namespace stepscope::tracer {
namespace {

/// Where the processor does not tell it itself.
std::string cpu_model_of_system() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    size_t const colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string steps_text(WindowOptions const& window) {
  if (!window.steps) return "all";
  if (window.on_request && window.steps == kNoSteps) return "on request";
  if (window.steps->last == INT64_MAX) return fmt::format("{}:", window.steps->first);
  return fmt::format("{}:{}", window.steps->first, window.steps->last);
}

/// Empty when only steps decide.
std::string window_text(WindowOptions const& window) {
  std::string text;
  if (!window.range.empty()) text = fmt::format("the first range {}", window.range);
  if (window.delay_ns)
    text = fmt::format("from {} after the first event", base::format_duration(*window.delay_ns));
  if (window.from_code) text = "where the program asks for it";
  if (window.on_request && !window.steps) text = "on request";

  if (window.duration_ns)
    text += fmt::format("{}for {}", text.empty() ? "" : ", ",
                        base::format_duration(*window.duration_ns));
  return text;
}

using Facts = std::array<std::pair<std::string, std::string>, 3>;

Facts facts_of_machine() {
  std::string cpu = cpu_brand();
  if (cpu.empty()) cpu = cpu_model_of_system();
  utsname system{};
  bool const is_known = ::uname(&system) == 0;
  return {{{"cpu", std::move(cpu)},
           {"cores", fmt::format("{}", ::sysconf(_SC_NPROCESSORS_ONLN))},
           {"kernel", is_known ? fmt::format("{} {}", system.sysname, system.release)
                               : std::string("unknown")}}};
}

/// Looked up once; forked children have it from their parent. No lock, which another thread may
/// hold when the process is copied.
Facts const& known_facts_of_machine() {
  static std::atomic<Facts const*> known{nullptr};
  if (known.load(std::memory_order_acquire) == nullptr) {
    Facts const* none = nullptr;
    auto facts = std::make_unique<Facts const>(facts_of_machine());
    bool const is_first =
        known.compare_exchange_strong(none, facts.get(), std::memory_order_acq_rel);
    if (is_first) static_cast<void>(facts.release());
  }
  return *known.load(std::memory_order_acquire);
}

}  // namespace

int64_t thread_count() {
  struct stat tasks {};
  constexpr int64_t kLinksOfItself =
      2;  // "." and its name in its parent; one more for each folder of a thread
  return ::stat("/proc/self/task", &tasks) == 0
             ? static_cast<int64_t>(tasks.st_nlink) - kLinksOfItself
             : 0;
}

bool wait_for_thread_count(int64_t count) {
  constexpr timespec kPause = {0, 50'000};
  constexpr int kTries = 20'000;
  for (int i = 0; i < kTries && thread_count() != count; ++i) ::nanosleep(&kPause, nullptr);
  return thread_count() == count;
}

/// proc(5): the link cannot be read once the main thread has exited.
bool main_thread_has_exited() {
  std::array<char, 1> first{};
  return ::readlink("/proc/self/exe", first.data(), first.size()) < 0 && errno == ENOENT &&
         thread_count() > 0;
}

/// proc(5): the last number of `stat`, as waitpid() would give it.
int exit_status_of_main_thread() {
  std::ifstream file(fmt::format("/proc/self/task/{}/stat", ::getpid()));
  std::string line;
  std::getline(file, line);
  size_t const space = line.find_last_of(' ');
  int status = 0;
  if (space != std::string::npos)
    std::from_chars(line.data() + space + 1, line.data() + line.size(), status);
  return WEXITSTATUS(status);
}

std::string thread_name(int64_t thread_id) {
  std::ifstream file(fmt::format("/proc/self/task/{}/comm", thread_id));
  std::string name;
  std::getline(file, name);
  return name;
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& c : text) {
    if (c == '\0') c = ' ';
  }
  return text;
}

model::TraceInfo describe_process(CaptureOptions const& options, TickSource ticks,
                                  int64_t origin_epoch_ns) {
  model::TraceInfo info;
  info.tool = "stepscope " STEPSCOPE_VERSION;

  info.host = base::host_name();
  info.command = command_line();
  info.process_id = ::getpid();
  info.rank = options.rank.value_or(0);
  info.world_size = options.world_size;
  info.origin_epoch_ns = origin_epoch_ns;

  Facts const& machine = known_facts_of_machine();
  info.facts.assign(machine.begin(), machine.end());
  info.facts.insert(info.facts.end(), options.job_labels.begin(), options.job_labels.end());
  info.facts.emplace_back("clock", to_string(ticks));
  info.facts.emplace_back("buffer", fmt::format("{} MiB", options.buffer_bytes >> 20));
  info.facts.emplace_back("recorded steps", steps_text(options.window));
  if (std::string text = window_text(options.window); !text.empty())
    info.facts.emplace_back("recorded part", std::move(text));
  return info;
}

}  // namespace stepscope::tracer
