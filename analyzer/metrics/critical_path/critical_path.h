// The critical path of a run and the slack next to it (DEFINITIONS, "Critical path"). Each
// process's own trace gives a graph. The way over the processes is found on the graphs alone. Then
// each process's part of it gets its names from its trace again. O(n log n) in device ops and
// syncs, linear in all else.
#pragma once

#include <optional>
#include <stop_token>
#include <vector>

#include "analyzer/metrics/critical_path/critical_path_totals.h"

namespace stepscope::analyzer {

struct CriticalPathInput {
  std::vector<DeviceOps> const& devices;            ///< of the run, by ref
  HostSteps const& host_steps;                      ///< of the run
  std::vector<CollectiveStats> const& collectives;  ///< of the run, whatever was asked for
  std::vector<DeviceStats> const& chosen;  ///< devices whose windows the path is to explain, by ref
  std::vector<StepStats> const& steps;     ///< of these devices, by (ref, step)
  int64_t launch_latency_limit_ns = 10'000;  ///< unless `chosen` has a longer one
  bool wants_slack = true;                   ///< false: the path alone is asked for
  std::stop_token stop = {};                 ///< after a request to stop there is no path
};

/// None where no chosen device has a window. `pieces`: if given, gets every piece of the path.
std::optional<CriticalPathStats> find_critical_path(CriticalPathInput const& input,
                                                    std::vector<PathPiece>* pieces = nullptr);

}  // namespace stepscope::analyzer
