// How a device's ops were launched (DEFINITIONS, "Launch"): how long from call to start, how many
// calls wait in the streams, and what CUDA graphs launch. O(n log n) in the ops.
#pragma once

#include "analyzer/metrics/core/device_ops.h"

namespace stepscope::analyzer {

/// A device op and its launch call: rows of the device's trace.
struct LaunchedOp {
  uint32_t launch, op;
  friend auto operator<=>(LaunchedOp const&, LaunchedOp const&) = default;
};

/// The ops (`rows`, of the device) whose launch the trace has, by (launch, op): thread after
/// thread, each in the order of its calls.
std::vector<LaunchedOp> launched_ops(DeviceOps const& device, std::vector<uint32_t> const& rows);

/// All but what graphs launched. `rows` by start, `launched` of them. `steps`: for the launches per
/// step.
LaunchStats launch_facts(DeviceOps const& device, std::vector<uint32_t> const& rows,
                         std::vector<LaunchedOp> const& launched, Interval window,
                         std::vector<StepStats> const& steps);

/// The CUDA graphs that launched any of the ops, by total descending. At most kMostGraphs; what the
/// others launched is in a row without a graph behind them.
std::vector<GraphStats> graph_table(DeviceOps const& device, std::vector<uint32_t> const& rows);
/// Their totals; all_ns: summed durations of all ops.
void add_graph_totals(std::vector<GraphStats> const& graphs, int64_t all_ns, LaunchStats& facts);
/// Graphs that are made anew for every shape are thousands; a table of so many shows all that
/// matter.
inline constexpr size_t kMostGraphs = 1000;

}  // namespace stepscope::analyzer
