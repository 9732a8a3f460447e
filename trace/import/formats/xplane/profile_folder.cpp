#include "trace/import/formats/xplane/profile_folder.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

namespace stepscope::import {
namespace {

namespace fs = std::filesystem;

/// The path without one of these endings; nothing when it has none.
std::optional<std::string> without_ending(std::string const& path,
                                          std::initializer_list<std::string_view> endings) {
  for (std::string_view const ending : endings)
    if (path.ends_with(ending)) return path.substr(0, path.size() - ending.size());
  return std::nullopt;
}

}  // namespace

std::optional<std::string> newest_profile(std::string const& folder) {
  std::optional<std::string> newest;
  std::error_code error;
  for (fs::directory_iterator it(fs::path(folder) / "plugins" / "profile", error), end;
       !error && it != end; it.increment(error)) {
    std::error_code ignored;
    // Their names are dates: "2026_11_22_09_30_00".
    if (it->is_directory(ignored) && (!newest || it->path().string() > *newest))
      newest = it->path().string();
  }
  return newest;
}

void drop_copies_for_browsers(std::vector<std::string>& files) {
  std::set<std::string> profiles;
  for (std::string const& file : files)
    if (auto const stem = without_ending(file, {".xplane.pb", ".xplane.pb.gz", ".xplane.pb.zst"}))
      profiles.insert(*stem);
  if (profiles.empty()) return;

  std::erase_if(files, [&](std::string const& file) {
    auto const stem = without_ending(file, {".trace.json.gz", ".trace.json"});
    return (stem && profiles.contains(*stem)) ||
           fs::path(file).filename() == "perfetto_trace.json.gz";
  });
}

}  // namespace stepscope::import
