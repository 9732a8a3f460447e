// What a gate keeps for the checks to come: runs as a baseline, or as further points of a history.
// Numbers and paths, no prose.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/compare/run_sample.h"
#include "analyzer/gate/noise.h"

namespace stepscope::analyzer {

struct KeptRun {
  std::string name;  ///< hostile text
  size_t steps = 0;  ///< usual ones
  double step_ns = 0;
  std::optional<double> peak_allocated_bytes;  ///< in the whole recording
};

/// The new runs as a baseline.
struct KeptBaseline {
  std::string file;   ///< hostile text, as all paths here
  std::string place;  ///< what --baseline names: the file, or its folder
  std::string
      asked_name;  ///< of the workload, where it was given and is not what the runs' command says
  bool is_written = false;  ///< else a check did not pass, and the file is as it was
  bool replaces = false;    ///< there was one before
  std::vector<KeptRun> runs;
  double step_ns = 0;  ///< mean over the runs
  /// How far its runs vary (of a single one: its steps), and what change as many new ones would
  /// tell. Unknown where they are too few, or drift.
  std::optional<Noise> noise;
  CompareUnit unit = CompareUnit::kRun;  ///< of `noise`
};

/// `runs`: at least one, each with a step. Everything but the paths and what becomes of the file.
KeptBaseline describe_baseline(std::vector<RunMeasurements> const& runs, double least_share);

/// The new runs in a history.
struct KeptHistory {
  std::string file;
  size_t added = 0;
  size_t runs = 0;  ///< that it has now
};

}  // namespace stepscope::analyzer
