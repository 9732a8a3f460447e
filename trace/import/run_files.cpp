#include "trace/import/run_files.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "trace/base/run_folder.h"
#include "trace/import/flight_recorder/flight_recorder_importer.h"
#include "trace/import/importers.h"
#include "trace/import/nsys/nsys_importer.h"
#include "trace/import/other_files.h"
#include "trace/import/perfetto/perfetto_importer.h"
#include "trace/import/rank_from_name.h"
#include "trace/import/xplane/profile_folder.h"

namespace stepscope::import {
namespace {

namespace fs = std::filesystem;
using base::Expected;
using base::fail;

/// What was exported for Perfetto into the folder of its own run is no further rank of it.
void drop_exports(std::vector<std::string>& files) {
  bool const has_own =
      std::any_of(files.begin(), files.end(), [](std::string const& file) { return file.ends_with(base::kTraceSuffix); });
  if (has_own) std::erase_if(files, [](std::string const& file) { return is_perfetto_name(file); });
}

/// Folders are looked through so deep; a log folder of an experiment has two or three levels.
constexpr int kMostLevels = 4;
/// More subfolders than any run has; a path such as "/" is not looked through.
constexpr size_t kMostFolders = 4096;
constexpr size_t kMostNamed = 8;

std::string name_of(std::string const& path) { return fs::path(path).filename().string(); }

std::string listed(std::vector<std::string> const& paths) {
  std::string text;
  for (size_t i = 0; i < std::min(paths.size(), kMostNamed); ++i) text += (i > 0 ? ", " : "") + name_of(paths[i]);
  return paths.size() > kMostNamed ? fmt::format("{} and {} more", text, paths.size() - kMostNamed) : text;
}

std::vector<std::string> subfolders_of(std::string const& folder) {
  std::vector<std::string> folders;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end && folders.size() < kMostFolders; it.increment(error)) {
    std::error_code ignored;
    // Links could lead back.
    if (it->is_directory(ignored) && !it->is_symlink(ignored)) folders.push_back(it->path().string());
  }
  std::sort(folders.begin(), folders.end(), natural_less);
  return folders;
}

/// A folder with its traces.
struct Nested {
  std::string folder;
  std::vector<std::string> files;
};

/// The nearest folders below that hold traces, in natural order. One that holds some is looked through no further.
void find_nested(std::string const& folder, int levels_left, std::vector<Nested>& found) {
  if (levels_left == 0) return;
  for (std::string const& each : subfolders_of(folder)) {
    if (found.size() >= kMostFolders) return;
    if (auto files = files_directly_in(each))
      found.push_back({each, std::move(*files)});
    else
      find_nested(each, levels_left - 1, found);
  }
}

bool are_ours(std::vector<Nested> const& nested) {
  return std::any_of(nested.begin(), nested.end(), [](Nested const& each) {
    return std::any_of(each.files.begin(), each.files.end(),
                       [](std::string const& file) { return file.ends_with(base::kTraceSuffix); });
  });
}

/// Each is of one rank, and no two of the same.
bool are_ranks(std::vector<Nested> const& nested) {
  std::set<int32_t> ranks;
  return std::all_of(nested.begin(), nested.end(), [&](Nested const& each) {
    // As a folder's: the name of a file in it would tell first.
    auto const rank = rank_of_name(each.folder + "/.");
    return rank && ranks.insert(*rank).second;
  });
}

/// "iteration_10" and "iteration_20": names that differ in numbers alone.
std::string without_numbers(std::string name) {
  std::erase_if(name, [](char c) { return c >= '0' && c <= '9'; });
  return name;
}
bool are_captures(std::vector<std::string> const& folders) {
  return std::all_of(folders.begin(), folders.end(), [&](std::string const& folder) {
    std::string const name = name_of(folder), bare = without_numbers(name);
    return bare == without_numbers(name_of(folders.front())) && bare.size() < name.size();
  });
}

/// The folders directly in `path` that the nested ones are, or are in.
std::vector<std::string> tops_of(std::string const& path, std::vector<Nested> const& nested) {
  std::vector<std::string> tops;
  for (Nested const& each : nested) {
    std::string top = (fs::path(path) / *fs::path(each.folder).lexically_relative(path).begin()).string();
    if (tops.empty() || tops.back() != top) tops.push_back(std::move(top));
  }
  return tops;
}

Expected<RunFiles> choose_nested(std::string const& path, std::vector<Nested> nested) {
  if (nested.size() == 1) return RunFiles{std::move(nested.front().files), {}};
  if (are_ranks(nested)) {
    RunFiles run;
    for (Nested const& each : nested) run.files.insert(run.files.end(), each.files.begin(), each.files.end());
    return run;
  }
  std::vector<std::string> const tops = tops_of(path, nested);
  // Each level has a shorter path below it, so this ends.
  if (tops.size() == 1) return find_run_files(tops.front());
  if (are_captures(tops) && !are_ours(nested)) {
    auto run = find_run_files(tops.back());
    if (!run) return run;
    std::vector<std::string> const others(tops.begin(), tops.end() - 1);
    run->notes.push_back(fmt::format("{}: holds {} captures, the newest is opened: {}; name one of the others to see it: {}",
                                     path, tops.size(), name_of(tops.back()), listed(others)));
    return run;
  }

  std::string names;
  for (size_t i = 0; i < std::min(nested.size(), kMostNamed); ++i)
    names += (i > 0 ? ", " : "") + fs::path(nested[i].folder).lexically_relative(path).string();
  return fail("{}: the folder holds no trace, but {} folders in it do: name one of them ({}{})", path, nested.size(), names,
              nested.size() > kMostNamed ? ", …" : "");
}

}  // namespace

Expected<std::vector<std::string>> files_directly_in(std::string const& folder) {
  std::vector<std::string> files;
  std::vector<std::string> others;
  std::string report;  // that was not exported
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    std::string const path = it->path().string();
    if (advice_for_report(path)) report = path;
    if (!it->is_regular_file(ignored)) continue;
    bool const is_trace =
        has_trace_name(it->path().filename().string()) ? !is_other_file(path) : is_renamed_flight_recorder_dump(path);
    (is_trace ? files : others).push_back(path);
  }
  if (error) return fail("{}: cannot read the folder ({}), check its permissions", folder, error.message());
  if (files.empty() && !report.empty()) return fail("{}: {}", report, *advice_for_report(report));

  drop_copies_for_browsers(files);
  drop_exports(files);
  std::sort(others.begin(), others.end());
  if (auto const advice = files.empty() ? advice_for_folder(others) : std::nullopt)
    return fail("{}: the folder holds no trace. {}", folder, *advice);
  if (files.empty()) return fail("{}: the folder holds no trace, name a run folder or record one with stepscope record", folder);
  std::sort(files.begin(), files.end(), natural_less);
  return files;
}

bool is_one_nested_run(std::string const& folder) {
  std::vector<Nested> nested;
  find_nested(folder, 1, nested);
  if (nested.size() < 2 || are_ours(nested)) return false;
  // Captures with as many files each make no scaling series.
  auto const is_as_large = [&](Nested const& each) { return each.files.size() == nested.front().files.size(); };
  return are_ranks(nested) || (are_captures(tops_of(folder, nested)) && std::all_of(nested.begin(), nested.end(), is_as_large));
}

Expected<RunFiles> find_run_files(std::string const& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return RunFiles{{path}, {}};
  auto files = files_directly_in(path);
  if (files) return RunFiles{std::move(*files), {}};

  if (auto const profile = newest_profile(path)) {
    auto of_profile = files_directly_in(*profile);
    if (!of_profile) return base::fail_with(of_profile);
    RunFiles run{std::move(*of_profile), {}};
    std::vector<std::string> others = subfolders_of(fs::path(*profile).parent_path().string());
    std::erase(others, *profile);
    if (!others.empty())
      run.notes.push_back(fmt::format("{}: holds {} profiles, the newest is opened: {}; name one of the others to see it: {}",
                                      path, others.size() + 1, name_of(*profile), listed(others)));
    return run;
  }
  std::vector<Nested> nested;
  find_nested(path, kMostLevels, nested);
  if (nested.empty()) return base::fail_with(files);
  return choose_nested(path, std::move(nested));
}

Expected<std::vector<std::string>> files_of(std::string const& path) {
  auto run = find_run_files(path);
  if (!run) return base::fail_with(run);
  return std::move(run->files);
}

}  // namespace stepscope::import
