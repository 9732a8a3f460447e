#include "trace/import/open/run_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "trace/base/files/run_folder.h"
#include "trace/import/common/numbers.h"
#include "trace/import/common/rank_from_name.h"
#include "trace/import/formats/flight_recorder/flight_recorder_importer.h"
#include "trace/import/formats/importers.h"
#include "trace/import/formats/nsys/nsys_importer.h"
#include "trace/import/formats/perfetto/perfetto_importer.h"
#include "trace/import/formats/xplane/profile_folder.h"
#include "trace/import/open/non_trace_files.h"

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
  // torch_npu leaves what its trace is made from beside it.
  std::string const of_ascend = (fs::path(folder) / "ASCEND_PROFILER_OUTPUT").string();
  if (auto files = files_directly_in(of_ascend)) return found.push_back({of_ascend, std::move(*files)});
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

/// The folders directly in `path` that the nested ones are, or are in.
std::vector<std::string> tops_of(std::string const& path, std::vector<Nested> const& nested) {
  std::vector<std::string> tops;
  for (Nested const& each : nested) {
    std::string top = (fs::path(path) / *fs::path(each.folder).lexically_relative(path).begin()).string();
    if (tops.empty() || tops.back() != top) tops.push_back(std::move(top));
  }
  return tops;
}

/// What the folders `tops`, which hold the nested ones, stand for. Each rank has as many files: folders with more and more of
/// them are runs of more and more devices.
FoldersAre meaning_of_tops(std::vector<std::string> const& tops, std::vector<Nested> const& nested) {
  std::vector<std::string> names;
  for (std::string const& top : tops) names.push_back(name_of(top));
  FoldersAre const meaning = meaning_of_folders(names);
  bool const may_be_ranks = meaning == FoldersAre::kRanks || meaning == FoldersAre::kMaybeRanks;
  if (!may_be_ranks) return meaning;

  std::map<std::string, size_t> files_in;
  for (std::string const& top : tops)
    for (Nested const& each : nested)
      if (each.folder == top || each.folder.starts_with(top + "/")) files_in[top] += each.files.size();
  bool const are_equal =
      std::all_of(files_in.begin(), files_in.end(), [&](auto const& top) { return top.second == files_in.begin()->second; });
  if (!are_equal) return FoldersAre::kCaptures;
  // Without a word only a file alone is one of a rank.
  bool const is_sure = meaning == FoldersAre::kRanks || files_in.begin()->second == 1;
  return is_sure ? FoldersAre::kRanks : FoldersAre::kCaptures;
}

/// Of each folder its own files: where it holds several captures those of the newest.
Expected<RunFiles> files_of_ranks(std::vector<std::string> const& folders) {
  RunFiles run;
  for (std::string const& folder : folders) {
    auto of_rank = find_run_files(folder);
    if (!of_rank) return of_rank;
    run.files.insert(run.files.end(), of_rank->files.begin(), of_rank->files.end());
    run.notes.insert(run.notes.end(), of_rank->notes.begin(), of_rank->notes.end());
  }
  return run;
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
  FoldersAre const meaning = are_ours(nested) ? FoldersAre::kOthers : meaning_of_tops(tops, nested);
  if (meaning == FoldersAre::kRanks) return files_of_ranks(tops);
  if (meaning == FoldersAre::kCaptures) {
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
  if (are_ranks(nested)) return true;
  // Captures with as many files each make no scaling series.
  auto const is_as_large = [&](Nested const& each) { return each.files.size() == nested.front().files.size(); };
  FoldersAre const meaning = meaning_of_tops(tops_of(folder, nested), nested);
  return meaning != FoldersAre::kOthers && std::all_of(nested.begin(), nested.end(), is_as_large);
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
