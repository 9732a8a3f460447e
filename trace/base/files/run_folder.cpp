#include "trace/base/files/run_folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include <time.h>
#include <unistd.h>

namespace stepscope::base {
namespace {

namespace fs = std::filesystem;

/// Files that commands write into a run's folder in addition to the traces.
constexpr std::array<std::string_view, 6> kOtherFiles = {
    "report.html", "viewer.png", "analysis.json", "findings.txt", "truth.json", "pathology.json"};

constexpr std::string_view kWindowPrefix = "steps-", kToTheEnd = "end";
constexpr std::string_view kCodeWindowPrefix = "window-", kTimePrefix = "at-";

/// "100-105" or "100-end": its first step.
std::optional<int64_t> first_step_of(std::string_view text) {
  int64_t first = 0, last = 0;
  char const* const end = text.data() + text.size();
  auto const [dash, no_first] = std::from_chars(text.data(), end, first);
  if (no_first != std::errc() || dash == end || *dash != '-') return {};

  std::string_view const rest(dash + 1, static_cast<size_t>(end - dash - 1));
  auto const [behind, no_last] = std::from_chars(dash + 1, end, last);
  bool const is_number = no_last == std::errc() && behind == end;
  return is_number || rest == kToTheEnd ? std::optional(first) : std::nullopt;
}

/// "ring-812", "ring-812-2", "ring-at-20261128-120000" or "ring-last": what it is sorted by.
std::optional<int64_t> step_of_ring(std::string_view name) {
  if (!name.starts_with(kRingPrefix)) return {};
  name.remove_prefix(kRingPrefix.size());
  if (name == "last" || name.starts_with(kTimePrefix)) return INT64_MAX;

  int64_t step = 0;
  char const* const end = name.data() + name.size();
  auto const [rest, error] = std::from_chars(name.data(), end, step);
  bool const is_one = error == std::errc() && step >= 0 && (rest == end || *rest == '-');
  return is_one ? std::optional(step) : std::nullopt;
}

/// "window-3".
std::optional<int64_t> number_of_code_window(std::string_view name) {
  if (!name.starts_with(kCodeWindowPrefix)) return {};
  name.remove_prefix(kCodeWindowPrefix.size());

  int64_t number = 0;
  char const* const end = name.data() + name.size();
  auto const [rest, error] = std::from_chars(name.data(), end, number);
  return error == std::errc() && rest == end && number > 0 ? std::optional(number) : std::nullopt;
}

/// "at-20261128-120000".
bool is_timed_window(std::string_view name) {
  constexpr std::string_view kDigit = "0123456789";
  constexpr size_t kDash = kTimePrefix.size() + 8, kLength = kDash + 7;
  if (!name.starts_with(kTimePrefix) || name.size() != kLength || name[kDash] != '-') return false;
  return name.find_first_not_of(kDigit, kTimePrefix.size()) == kDash &&
         name.find_first_not_of(kDigit, kDash + 1) == std::string_view::npos;
}

/// What a folder of a window or a ring is sorted by; nothing for any other.
std::optional<int64_t> place_of_window(std::string_view name) {
  if (name.starts_with(kWindowPrefix)) return first_step_of(name.substr(kWindowPrefix.size()));
  if (is_timed_window(name)) return INT64_MAX;
  auto const number = number_of_code_window(name);
  return number ? number : step_of_ring(name);
}

/// "at-20261128-120000", in UTC.
std::string time_in_name(int64_t epoch_s) {
  auto const seconds = static_cast<time_t>(epoch_s);
  tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  size_t const length = ::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &parts);
  return std::string(kTimePrefix) + std::string(text.data(), length);
}

bool holds_any(fs::path const& folder, IsNamed const& is_own) {
  std::error_code error;
  fs::directory_iterator const entries(folder, error);
  return std::any_of(begin(entries), end(entries), [&](auto const& entry) {
    std::string const name = entry.path().filename().string();
    return !is_hidden_helper(name) && is_own(name);
  });
}

/// Folders in that of a run that hold parts of it.
std::vector<std::string> parts_in(std::string const& folder) {
  std::vector<std::string> parts = windows_in(folder);
  std::string const stream = folder + "/" + std::string(kStreamFolder);
  std::error_code error;
  if (fs::is_directory(stream, error)) parts.push_back(stream);
  return parts;
}

Expected<void> check_free(std::string const& folder, bool force, IsNamed const& counts) {
  if (folder.empty()) return fail("no run folder was named, give one with -o");

  std::error_code error;
  bool const exists = fs::exists(folder, error);
  if (exists && !fs::is_directory(folder, error))
    return fail("{}: is a file, choose a folder for the run with -o", folder);

  auto const parts = parts_in(folder);
  bool const is_taken = holds_any(folder, counts) ||
                        std::any_of(parts.begin(), parts.end(), [&](std::string const& part) {
                          return holds_any(part, counts);
                        });
  if (exists && !force && is_taken)
    return fail(
        "{}: exists and is not empty, choose another folder with -o or replace the run with "
        "--force",
        folder);
  return {};
}

/// `counts`: which files mean that the folder is taken; `is_own`: which of them force may remove.
Expected<bool> prepare(std::string const& folder, bool force, IsNamed const& counts,
                       IsNamed const& is_own) {
  if (auto const free = check_free(folder, force, counts); !free) return fail_with(free);

  std::error_code error;
  bool const exists = fs::exists(folder, error);
  if (!exists) fs::create_directories(folder, error);

  if (error)
    return fail("{}: cannot be made ({}), choose another folder with -o", folder, error.message());

  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return fail("{}: cannot be written ({}), choose another folder with -o", folder,
                std::strerror(errno));

  if (!exists) return true;
  for (std::string const& part : parts_in(folder)) {
    if (auto const removed = remove_files(part, is_own); !removed) return fail_with(removed);
    fs::remove(part, error);  // stays where others have files in it
  }
  if (auto const removed = remove_files(folder, is_own); !removed) return fail_with(removed);
  return false;
}

bool any_name(std::string_view) { return true; }

bool is_trace(std::string_view name) {
  return name.ends_with(kTraceSuffix) || name.ends_with(kStreamSuffix);
}

}  // namespace

std::string name_of_window(int64_t first_step, int64_t last_step) {
  std::string const last =
      last_step == INT64_MAX ? std::string(kToTheEnd) : std::to_string(last_step);
  return std::string(kWindowPrefix) + std::to_string(first_step) + "-" + last;
}

std::string name_of_code_window(uint64_t number) {
  return std::string(kCodeWindowPrefix) + std::to_string(number);
}

std::string name_of_timed_window(int64_t epoch_s) { return time_in_name(epoch_s); }

std::string name_of_ring(int64_t step, int64_t epoch_s) {
  return std::string(kRingPrefix) + (step >= 0 ? std::to_string(step) : time_in_name(epoch_s));
}

std::vector<std::string> windows_in(std::string const& folder) {
  std::vector<std::pair<int64_t, std::string>> found;
  std::error_code error;
  for (auto const& entry : fs::directory_iterator(folder, error)) {
    std::string const name = entry.path().filename().string();
    if (!entry.is_directory(error)) continue;
    if (auto const place = place_of_window(name)) found.emplace_back(*place, entry.path().string());
  }

  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (auto& [first, path] : found) paths.push_back(std::move(path));
  return paths;
}

bool is_run_file(std::string_view file_name) {
  return is_trace(file_name) ||
         std::find(kOtherFiles.begin(), kOtherFiles.end(), file_name) != kOtherFiles.end();
}

IsNamed old_run_files(std::string const& folder) {
  return holds_any(folder, is_trace) ? IsNamed(is_run_file) : IsNamed(is_trace);
}

Expected<bool> prepare_run_folder(std::string const& folder, bool force) {
  return prepare(folder, force, any_name, old_run_files(folder));
}

Expected<bool> prepare_shared_run_folder(std::string const& folder, bool force,
                                         IsNamed const& own) {
  return prepare(folder, force, own, own);
}

Expected<OutputFolder> take_run_folder(std::string const& folder, bool force) {
  if (auto const free = check_free(folder, force, any_name); !free) return fail_with(free);
  auto taken = OutputFolder::take(folder);
  if (!taken) return taken;
  // Another command may have come first, and be done.
  if (auto const free = check_free(folder, force, any_name); !free) return fail_with(free);
  return taken;
}

}  // namespace stepscope::base
