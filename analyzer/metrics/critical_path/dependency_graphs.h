// The dependency graphs of a run's processes, several at once, and who was ready last for each
// collective: what the critical path walks and what a replay evaluates.
#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "analyzer/metrics/critical_path/critical_path_walk.h"
#include "analyzer/metrics/critical_path/dependency_graph.h"

namespace stepscope::analyzer {

/// The devices of one process.
using PathProcess = std::span<DeviceOps const>;

struct ProcessGraphsInput {
  std::vector<DeviceOps> const& devices;            ///< of the run, by ref
  HostSteps const& host_steps;                      ///< of the run
  std::vector<CollectiveStats> const& collectives;  ///< of the run, whatever was asked for
  std::vector<DeviceStats> const& chosen;           ///< by ref
  int64_t launch_latency_limit_ns = 10'000;         ///< unless `chosen` has a longer one
  std::stop_token stop = {};                        ///< after a request to stop graphs are empty
};

struct ProcessGraphs {
  std::vector<PathProcess> processes;   ///< those with a chosen device
  std::vector<DependencyGraph> graphs;  ///< one for each of `processes`
};
ProcessGraphs make_process_graphs(ProcessGraphsInput const& input);

/// Fills lead_ns and is_jump of all joins. Returns, by collective, which participant was ready
/// last.
std::vector<OpPlace> find_last_participants(std::vector<CollectiveStats> const& collectives,
                                            ProcessGraphs& made);

}  // namespace stepscope::analyzer
