#include "trace/import/open/run_series.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>

#include "trace/import/common/coarse_times.h"
#include "trace/import/common/rank_from_name.h"
#include "trace/import/formats/importers.h"
#include "trace/import/open/open_run.h"

namespace stepscope::import {
namespace {

namespace fs = std::filesystem;
using base::Expected;
using base::fail;

/// The runs in a folder that holds no trace itself; empty for any other folder.
std::vector<std::string> runs_in(std::string const& folder) {
  std::error_code error;
  std::vector<std::string> runs;
  if (!fs::is_directory(folder, error) || files_directly_in(folder) || is_one_nested_run(folder))
    return runs;

  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!it->is_directory(ignored)) continue;
    std::string const path = it->path().string();
    if (files_directly_in(path) || newest_capture(path)) runs.push_back(path);
  }
  std::sort(runs.begin(), runs.end(), natural_less);
  return runs;
}

/// What the traces of a path state. Files of other tools count as devices and state no ranks.
struct PathStats {
  bool is_folder = false, is_self_describing = false;
  bool is_whole = false;  ///< a run of its own
  uint64_t devices = 0;
  std::set<int32_t> ranks;  ///< with devices whose work has known times
};

Expected<PathStats> stats_of(std::string const& path) {
  auto const files = files_of(path);
  if (!files) return base::fail_with(files);
  PathStats stats;
  std::error_code error;
  stats.is_folder = fs::is_directory(path, error);
  stats.is_self_describing = std::all_of(files->begin(), files->end(),
                                         [](auto const& file) { return is_self_describing(file); });
  stats.devices = files->size();
  stats.is_whole = stats.is_folder;
  if (!stats.is_self_describing) return stats;

  auto const sources = open_sources(std::span(&path, 1));
  if (!sources) return base::fail_with(sources);
  stats.devices = 0;
  int32_t world_size = 1;
  std::set<int32_t> ranks;

  for (RankSource const& rank : sources->ranks) {
    model::TraceInfo const& info = rank.source.info();
    stats.devices += rank.source.devices().size();
    world_size = std::max(world_size, info.world_size);
    ranks.insert(info.rank);
    if (!rank.source.devices().empty() && !has_coarse_times(info)) stats.ranks.insert(info.rank);
  }
  stats.is_whole = std::ssize(ranks) >= world_size;
  return stats;
}

bool share_ranks(std::vector<PathStats> const& paths) {
  std::set<int32_t> seen;
  for (PathStats const& path : paths)
    for (int32_t const rank : path.ranks)
      if (!seen.insert(rank).second) return true;
  return false;
}

}  // namespace

Expected<RunPaths> find_runs(std::vector<std::string> const& paths, PathsAre are) {
  if (are == PathsAre::kOneRun) return RunPaths{false, paths};
  RunPaths found{are == PathsAre::kRuns, {}};

  for (std::string const& path : paths) {
    std::vector<std::string> const runs = runs_in(path);
    found.is_series = found.is_series || !runs.empty();
    if (runs.empty()) found.paths.push_back(path);
    found.paths.insert(found.paths.end(), runs.begin(), runs.end());
  }

  if (found.is_series || paths.size() < 2) return found;
  std::vector<PathStats> stats;
  for (std::string const& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) return fail("{}: does not exist, check the path", path);
    auto of_path = stats_of(path);
    if (!of_path) return base::fail_with(of_path);
    stats.push_back(std::move(*of_path));
  }

  auto const all = [&](auto const& holds) {
    return std::all_of(stats.begin(), stats.end(), holds);
  };
  bool const have_same_size =
      all([&](PathStats const& path) { return path.devices == stats.front().devices; });
  bool const has_whole = !all([](PathStats const& path) { return !path.is_whole; });
  found.is_series = has_whole && !have_same_size;
  if (!found.is_series && all([](PathStats const& path) {
        return path.is_self_describing && path.is_whole && path.is_folder;
      }) &&
      share_ranks(stats))
    return fail(
        "{} and {} are whole runs of one number of devices: compare them with stepscope compare. "
        "Name runs of other numbers too for a scaling report, or say --one-run to read all files "
        "as one run",
        paths[0], paths[1]);
  return found;
}

Expected<uint64_t> count_devices(std::string const& path) {
  auto const stats = stats_of(path);
  if (!stats) return base::fail_with(stats);
  return stats->devices;
}

}  // namespace stepscope::import
