#include "trace/base/files/run_folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <unistd.h>

namespace stepscope::base {
namespace {

namespace fs = std::filesystem;

/// What is written into a run's folder beside the traces.
constexpr std::array<std::string_view, 6> kOtherFiles = {
    "report.html", "viewer.png", "analysis.json", "findings.txt", "truth.json", "pathology.json"};

bool holds_any(fs::path const& folder, IsNamed const& is_own) {
  std::error_code error;
  fs::directory_iterator const entries(folder, error);
  return std::any_of(begin(entries), end(entries), [&](auto const& entry) {
    std::string const name = entry.path().filename().string();
    return !is_hidden_helper(name) && is_own(name);
  });
}

Expected<void> check_free(std::string const& folder, bool force, IsNamed const& counts) {
  if (folder.empty()) return fail("no run folder was named, give one with -o");
  std::error_code error;
  bool const exists = fs::exists(folder, error);
  if (exists && !fs::is_directory(folder, error))
    return fail("{}: is a file, choose a folder for the run with -o", folder);
  if (exists && !force && holds_any(folder, counts))
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
  if (exists)
    if (auto const removed = remove_files(folder, is_own); !removed) return fail_with(removed);
  return !exists;
}

bool any_name(std::string_view) { return true; }

bool is_trace(std::string_view name) { return name.ends_with(kTraceSuffix); }

}  // namespace

bool is_run_file(std::string_view file_name) {
  return file_name.ends_with(kTraceSuffix) ||
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
