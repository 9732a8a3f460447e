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
#include "trace/import/formats/importers.h"
#include "trace/import/open/non_trace_files.h"

namespace stepscope::import {
namespace {

namespace fs = std::filesystem;
using base::Expected;
using base::fail;

/// How deep folders are searched. A log folder of an experiment has two or three levels.
constexpr int kMostLevels = 4;
/// More subfolders than any run has, so that a path such as "/" is not searched for long.
constexpr size_t kMostFolders = 4096;
constexpr size_t kMostNamed = 8;

std::string name_of(std::string const& path) { return fs::path(path).filename().string(); }

std::string listed(std::vector<std::string> const& paths) {
  std::string text;
  for (size_t i = 0; i < std::min(paths.size(), kMostNamed); ++i)
    text += (i > 0 ? ", " : "") + name_of(paths[i]);
  return paths.size() > kMostNamed ? fmt::format("{} and {} more", text, paths.size() - kMostNamed)
                                   : text;
}

std::vector<std::string> subfolders_of(std::string const& folder) {
  std::vector<std::string> folders;
  std::error_code error;

  for (fs::directory_iterator it(folder, error), end;
       !error && it != end && folders.size() < kMostFolders; it.increment(error)) {
    std::error_code ignored;
    // Links could lead back.
    if (it->is_directory(ignored) && !it->is_symlink(ignored))
      folders.push_back(it->path().string());
  }

  std::sort(folders.begin(), folders.end(), natural_less);
  return folders;
}

/// A folder with its traces.
struct Nested {
  std::string folder;
  std::vector<std::string> files;
};

/// The subfolder in which a tool leaves its trace; nothing where `folder` has none with traces.
std::optional<Nested> output_folder_in(std::string const& folder) {
  for (Importer const& importer : importers()) {
    if (importer.output_folder.empty()) continue;
    std::string const output = (fs::path(folder) / importer.output_folder).string();
    if (auto files = files_directly_in(output)) return Nested{output, std::move(*files)};
  }
  return std::nullopt;
}

/// The nearest folders below that hold traces, in natural order. A folder with traces is searched
/// no deeper.
void find_nested(std::string const& folder, int levels_left, std::vector<Nested>& found) {
  if (levels_left == 0) return;
  if (auto output = output_folder_in(folder)) return found.push_back(std::move(*output));

  for (std::string const& each : subfolders_of(folder)) {
    if (found.size() >= kMostFolders) return;
    if (auto files = files_directly_in(each))
      found.push_back({each, std::move(*files)});
    else
      find_nested(each, levels_left - 1, found);
  }
}

/// Whether traces in them state their run themselves.
bool has_self_describing(std::vector<Nested> const& nested) {
  return std::any_of(nested.begin(), nested.end(), [](Nested const& each) {
    return std::any_of(each.files.begin(), each.files.end(),
                       [](std::string const& file) { return is_self_describing(file); });
  });
}

/// Whether each folder is named after one rank, and no two after the same.
bool are_ranks(std::vector<Nested> const& nested) {
  std::set<int32_t> ranks;
  return std::all_of(nested.begin(), nested.end(), [&](Nested const& each) {
    // Ends with "/." because a file's name has precedence over its folder's.
    auto const rank = rank_of_name(each.folder + "/.");
    return rank && ranks.insert(*rank).second;
  });
}

/// The folders directly in `path` that are nested ones or hold some.
std::vector<std::string> tops_of(std::string const& path, std::vector<Nested> const& nested) {
  std::vector<std::string> tops;
  for (Nested const& each : nested) {
    std::string top =
        (fs::path(path) / *fs::path(each.folder).lexically_relative(path).begin()).string();
    if (tops.empty() || tops.back() != top) tops.push_back(std::move(top));
  }
  return tops;
}

/// What the folders `tops`, which hold the nested ones, stand for. Ranks of one run have equally
/// many files; folders with different numbers of files are runs on different numbers of devices.
FoldersAre meaning_of_tops(std::vector<std::string> const& tops,
                           std::vector<Nested> const& nested) {
  std::vector<std::string> names;
  for (std::string const& top : tops) names.push_back(name_of(top));
  FoldersAre const meaning = meaning_of_folders(names);
  bool const may_be_ranks = meaning == FoldersAre::kRanks || meaning == FoldersAre::kMaybeRanks;
  if (!may_be_ranks) return meaning;

  std::map<std::string, size_t> files_in;
  for (std::string const& top : tops)
    for (Nested const& each : nested)
      if (each.folder == top || each.folder.starts_with(top + "/"))
        files_in[top] += each.files.size();
  bool const are_equal = std::all_of(files_in.begin(), files_in.end(), [&](auto const& top) {
    return top.second == files_in.begin()->second;
  });
  if (!are_equal) return FoldersAre::kCaptures;
  // A bare number names a rank only if the folder has a single file.
  bool const is_sure = meaning == FoldersAre::kRanks || files_in.begin()->second == 1;
  return is_sure ? FoldersAre::kRanks : FoldersAre::kCaptures;
}

/// The files of all folders. A folder with several captures gives the files of its newest.
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

/// Whether a file directly in a folder is one of the folder's traces, perhaps a damaged one.
bool is_trace_of_folder(std::string const& path) {
  if (has_trace_name(name_of(path))) return !is_other_file(path);
  auto const all = importers();
  return std::any_of(all.begin(), all.end(), [&](Importer const& importer) {
    return importer.is_renamed != nullptr && importer.is_renamed(path);
  });
}

/// The files of the capture `newest` in the log folder `path`, with a note that names the others.
Expected<RunFiles> files_of_newest(std::string const& path, std::string const& newest) {
  auto files = files_directly_in(newest);
  if (!files) return base::fail_with(files);
  RunFiles run{std::move(*files), {}};

  std::vector<std::string> others = subfolders_of(fs::path(newest).parent_path().string());
  std::erase(others, newest);
  if (!others.empty())
    run.notes.push_back(fmt::format(
        "{}: holds {} profiles, the newest is opened: {}; name one of the others to see it: {}",
        path, others.size() + 1, name_of(newest), listed(others)));
  return run;
}

Expected<RunFiles> choose_nested(std::string const& path, std::vector<Nested> nested) {
  if (nested.size() == 1) return RunFiles{std::move(nested.front().files), {}};

  if (are_ranks(nested)) {
    RunFiles run;
    for (Nested const& each : nested)
      run.files.insert(run.files.end(), each.files.begin(), each.files.end());
    return run;
  }

  std::vector<std::string> const tops = tops_of(path, nested);
  // The recursion ends because each level has one folder less below it.
  if (tops.size() == 1) return find_run_files(tops.front());
  FoldersAre const meaning =
      has_self_describing(nested) ? FoldersAre::kOthers : meaning_of_tops(tops, nested);
  if (meaning == FoldersAre::kRanks) return files_of_ranks(tops);
  if (meaning == FoldersAre::kCaptures) {
    auto run = find_run_files(tops.back());
    if (!run) return run;
    std::vector<std::string> const others(tops.begin(), tops.end() - 1);
    run->notes.push_back(fmt::format(
        "{}: holds {} captures, the newest is opened: {}; name one of the others to see it: {}",
        path, tops.size(), name_of(tops.back()), listed(others)));
    return run;
  }

  std::string names;
  for (size_t i = 0; i < std::min(nested.size(), kMostNamed); ++i)
    names += (i > 0 ? ", " : "") + fs::path(nested[i].folder).lexically_relative(path).string();
  return fail("{}: the folder holds no trace, but {} folders in it do: name one of them ({}{})",
              path, nested.size(), names, nested.size() > kMostNamed ? ", …" : "");
}

}  // namespace

Expected<std::vector<std::string>> files_directly_in(std::string const& folder) {
  std::vector<std::string> files;
  std::vector<std::string> others;
  std::string unconverted;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    std::string const path = it->path().string();
    if (name_of(path).starts_with('.')) continue;  // our lock, an editor's copy
    if (conversion_advice(path)) unconverted = path;
    if (it->is_regular_file(ignored)) (is_trace_of_folder(path) ? files : others).push_back(path);
  }
  if (error)
    return fail("{}: cannot read the folder ({}), check its permissions", folder, error.message());
  if (files.empty() && !unconverted.empty())
    return fail("{}: {}", unconverted, *conversion_advice(unconverted));

  for (Importer const& importer : importers())
    if (importer.drop_copies != nullptr) importer.drop_copies(files);
  std::sort(others.begin(), others.end());
  if (auto const advice = files.empty() ? advice_for_folder(others) : std::nullopt)
    return fail("{}: the folder holds no trace. {}", folder, *advice);
  if (files.empty())
    return fail(
        "{}: the folder holds no trace, name a run folder or record one with stepscope record",
        folder);
  std::sort(files.begin(), files.end(), natural_less);
  return files;
}

bool is_one_nested_run(std::string const& folder) {
  std::vector<Nested> nested;
  find_nested(folder, 1, nested);
  if (nested.size() < 2 || has_self_describing(nested)) return false;
  if (are_ranks(nested)) return true;

  // Captures with equally many files are no scaling series.
  auto const is_as_large = [&](Nested const& each) {
    return each.files.size() == nested.front().files.size();
  };
  FoldersAre const meaning = meaning_of_tops(tops_of(folder, nested), nested);
  return meaning != FoldersAre::kOthers && std::all_of(nested.begin(), nested.end(), is_as_large);
}

Expected<RunFiles> find_run_files(std::string const& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return RunFiles{{path}, {}};

  // Where a run has windows, the files in its own folder are of processes that came to none.
  auto files = files_directly_in(path);
  if (files && base::windows_in(path).empty()) return RunFiles{std::move(*files), {}};

  if (auto const newest = newest_capture(path)) return files_of_newest(path, *newest);

  std::vector<Nested> nested;
  find_nested(path, kMostLevels, nested);
  if (nested.empty() && files) return RunFiles{std::move(*files), {}};
  if (nested.empty()) return base::fail_with(files);
  return choose_nested(path, std::move(nested));
}

Expected<std::vector<std::string>> files_of(std::string const& path) {
  auto run = find_run_files(path);
  if (!run) return base::fail_with(run);
  return std::move(run->files);
}

}  // namespace stepscope::import
