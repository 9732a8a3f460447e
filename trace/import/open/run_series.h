// Whether several paths are parts of one run or runs of a series.
//
// The ranks of one run merge; runs of different numbers of devices are a series. A path is a run of
// its own if it holds as many ranks as it says the job has; a folder of another tool's traces is
// one, and a folder without traces whose folders have some is a series (stepscope run --scale
// writes such). So paths are a series if one of them is a run of its own and not all have the same
// number of devices. Files of other tools are ranks of one run, as they mostly do not say of how
// many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/base/expected.h"

namespace stepscope::import {

/// How the user wants several paths taken.
enum class PathsAre : uint8_t { kFound, kRuns, kOneRun };

struct RunPaths {
  bool is_series = false;
  std::vector<std::string> paths;  ///< of a series one a run; else those that were named
};

/// Opens what says how many ranks and devices a path has; reads no events of our own traces.
/// Errors: a path cannot be read; whole runs of one number of devices, which are neither parts of a
/// run nor a series.
base::Expected<RunPaths> find_runs(std::vector<std::string> const& paths, PathsAre are);

/// How many devices a path has, by what it says of itself; of another tool's traces: files.
base::Expected<uint64_t> count_devices(std::string const& path);

}  // namespace stepscope::import
