// Whether several paths are parts of one run or runs of a series.
//
// The ranks of one run merge; runs on different numbers of devices are a series. Two kinds of paths
// are runs of their own: those with as many ranks as their traces say the job has, and folders of
// another tool's traces. A folder without traces whose subfolders have some is a series (written by
// stepscope run --scale). Paths are a series if one of them is a run of its own and not all have
// the same number of devices. Files of other tools are ranks of one run, as they rarely state their
// job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/base/expected.h"

namespace stepscope::import {

/// How the user wants Stepscope to treat several paths.
enum class PathsAre : uint8_t { kFound, kRuns, kOneRun };

struct RunPaths {
  bool is_series = false;
  std::vector<std::string> paths;  ///< of a series: one per run; else the paths as given
};

/// Opens the traces for their ranks and devices; reads no events of self-describing ones. Errors: a
/// path cannot be read; whole runs on one number of devices, which are neither parts of a run nor a
/// series.
base::Expected<RunPaths> find_runs(std::vector<std::string> const& paths, PathsAre are);

/// How many devices a path has by its traces' descriptions; files for another tool's traces.
base::Expected<uint64_t> count_devices(std::string const& path);

}  // namespace stepscope::import
