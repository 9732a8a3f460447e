#include "tracer/core/process_info.h"

#include <array>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include <sys/utsname.h>
#include <unistd.h>

#include "trace/base/format.h"

namespace stepscope::tracer {
namespace {

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& c : text) {
    if (c == '\0') c = ' ';
  }
  return text;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    size_t const colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string steps_text(WindowOptions const& window) {
  if (!window.steps) return "all";
  if (window.steps->last == INT64_MAX) return fmt::format("{}:", window.steps->first);
  return fmt::format("{}:{}", window.steps->first, window.steps->last);
}

/// Empty when only steps decide.
std::string window_text(WindowOptions const& window) {
  std::string text;
  if (!window.range.empty()) text = fmt::format("the first range {}", window.range);
  if (window.delay_ns) text = fmt::format("from {} after the first event", base::format_duration(*window.delay_ns));
  if (window.from_code) text = "where the program asks for it";
  if (window.duration_ns) text += fmt::format("{}for {}", text.empty() ? "" : ", ", base::format_duration(*window.duration_ns));
  return text;
}

}  // namespace

std::string thread_name(int64_t thread_id) {
  std::ifstream file(fmt::format("/proc/self/task/{}/comm", thread_id));
  std::string name;
  std::getline(file, name);
  return name;
}

model::TraceInfo describe_process(CaptureOptions const& options, TickSource ticks, int64_t origin_epoch_ns) {
  model::TraceInfo info;
  info.tool = "stepscope " STEPSCOPE_VERSION;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) info.host = host.data();
  info.command = command_line();
  info.process_id = ::getpid();
  info.rank = options.rank.value_or(0);
  info.world_size = options.world_size;
  info.origin_epoch_ns = origin_epoch_ns;
  info.facts.emplace_back("cpu", cpu_model());
  info.facts.emplace_back("cores", fmt::format("{}", ::sysconf(_SC_NPROCESSORS_ONLN)));
  utsname system{};
  if (::uname(&system) == 0) info.facts.emplace_back("kernel", fmt::format("{} {}", system.sysname, system.release));
  info.facts.emplace_back("clock", to_string(ticks));
  info.facts.emplace_back("buffer", fmt::format("{} MiB", options.buffer_bytes >> 20));
  info.facts.emplace_back("recorded steps", steps_text(options.window));
  if (std::string text = window_text(options.window); !text.empty()) info.facts.emplace_back("recorded part", std::move(text));
  return info;
}

}  // namespace stepscope::tracer
