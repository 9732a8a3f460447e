#include "tracer/requests/recorded_processes.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <tuple>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/host_name.h"
#include "tracer/core/options.h"

namespace stepscope::tracer {
namespace {

/// A process may be hostile: its files are read no further.
constexpr size_t kMaxBytes = 16 << 20;

std::string text_of(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

/// The value of a variable in an environment whose entries end with a zero byte.
std::optional<std::string> value_of(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    std::string_view const entry = environment.substr(0, environment.find('\0'));
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('='))
      return std::string(entry.substr(name.size() + 1));
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
  }
  return {};
}

std::optional<int32_t> rank_in(std::string_view environment) {
  for (char const* const variable : kRankVariables) {
    auto const text = value_of(environment, variable);
    int32_t rank = 0;
    if (!text) continue;
    auto const [end, error] = std::from_chars(text->data(), text->data() + text->size(), rank);
    if (error == std::errc() && end == text->data() + text->size() && rank >= 0) return rank;
  }
  return {};
}

/// What a program began with; nothing where it is not recorded, or is another user's.
std::optional<RecordedProcess> look_at(int64_t process) {
  std::string const folder = fmt::format("/proc/{}", process);
  struct stat owner {};
  if (::stat(folder.c_str(), &owner) != 0 || owner.st_uid != ::geteuid()) return {};

  std::string const environment = text_of(folder + "/environ");
  auto run = value_of(environment, kOutputVariable);
  if (!run || run->empty()) return {};
  // Launchers and shells have the variables, too, and record nothing.
  if (text_of(folder + "/maps").find(kTracerLibrary) == std::string::npos) return {};

  std::string command = text_of(folder + "/cmdline");
  while (!command.empty() && command.back() == '\0') command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  return RecordedProcess{.run = std::move(*run),
                         .host = base::host_name(),
                         .process_id = process,
                         .rank = rank_in(environment),
                         .command = std::move(command),
                         .is_on_request = value_of(environment, kOnRequestVariable).has_value() ||
                                          value_of(environment, kRingVariable).has_value()};
}

}  // namespace

std::vector<RecordedProcess> recorded_processes() {
  std::vector<RecordedProcess> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    std::string const name = entry->path().filename().string();
    int64_t process = 0;
    auto const [last, wrong] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (wrong != std::errc() || last != name.data() + name.size()) continue;
    if (auto one = look_at(process)) found.push_back(std::move(*one));
  }

  std::sort(found.begin(), found.end(), [](RecordedProcess const& a, RecordedProcess const& b) {
    return std::tie(a.run, a.process_id) < std::tie(b.run, b.process_id);
  });
  return found;
}

}  // namespace stepscope::tracer
