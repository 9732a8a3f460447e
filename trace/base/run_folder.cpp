#include "trace/base/run_folder.h"

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
using IsOwn = std::function<bool(std::string_view)>;

/// What is written into a run's folder beside the traces.
constexpr std::array<std::string_view, 6> kOtherFiles = {"report.html",  "viewer.png", "analysis.json",
                                                         "findings.txt", "truth.json", "pathology.json"};

bool holds_any(fs::path const& folder, IsOwn const& is_own) {
  std::error_code error;
  fs::directory_iterator const entries(folder, error);
  return std::any_of(begin(entries), end(entries), [&](auto const& entry) { return is_own(entry.path().filename().string()); });
}

Expected<void> remove_files(fs::path const& folder, IsOwn const& is_own) {
  std::error_code error;
  for (auto const& entry : fs::directory_iterator(folder, error)) {
    std::error_code removing;
    if (entry.is_regular_file(removing) && is_own(entry.path().filename().string())) fs::remove(entry.path(), removing);
    if (removing) return fail("{}: cannot be removed ({}), check its permissions", entry.path().string(), removing.message());
  }
  return {};
}

/// `counts`: which files mean that the folder is taken; `is_own`: which of them force may remove.
Expected<bool> prepare(std::string const& folder, bool force, IsOwn const& counts, IsOwn const& is_own) {
  if (folder.empty()) return fail("no run folder was named, give one with -o");
  std::error_code error;
  bool const exists = fs::exists(folder, error);
  if (exists && !fs::is_directory(folder, error)) return fail("{}: is a file, choose a folder for the run with -o", folder);
  if (exists && !force && holds_any(folder, counts))
    return fail("{}: exists and is not empty, choose another folder with -o or replace the run with --force", folder);
  if (!exists) fs::create_directories(folder, error);
  if (error) return fail("{}: cannot be made ({}), choose another folder with -o", folder, error.message());
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return fail("{}: cannot be written ({}), choose another folder with -o", folder, std::strerror(errno));
  if (exists)
    if (auto const removed = remove_files(folder, is_own); !removed) return fail_with(removed);
  return !exists;
}

}  // namespace

bool is_run_file(std::string_view file_name) {
  return file_name.ends_with(kTraceSuffix) || std::find(kOtherFiles.begin(), kOtherFiles.end(), file_name) != kOtherFiles.end();
}

Expected<bool> prepare_run_folder(std::string const& folder, bool force) {
  return prepare(
      folder, force, [](std::string_view) { return true; }, is_run_file);
}

Expected<bool> prepare_shared_run_folder(std::string const& folder, bool force, IsOwn const& own) {
  return prepare(folder, force, own, own);
}

}  // namespace stepscope::base
