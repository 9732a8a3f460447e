// A run with its replay graph, as what_if() makes it of a run in memory.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/analyze.h"
#include "analyzer/metrics/critical_path/path_part.h"
#include "analyzer/metrics/host/innermost_host_events.h"
#include "analyzer/metrics/steps/measured_steps.h"
#include "analyzer/metrics/steps/step_detection.h"
#include "analyzer/whatif/replay/replay.h"

namespace stepscope::analyzer::testing_support {

/// The graph refers to the other members, so that the object does not move.
class RecordedReplay {
 public:
  explicit RecordedReplay(model::Run made, int64_t launch_latency_limit_ns = 10'000)
      : run(std::move(made)),
        analysis(analyze(run, AnalyzeOptions{.launch_latency_limit_ns = launch_latency_limit_ns})),
        devices(index_devices(run)),
        host_steps(find_steps(run, devices)) {
    auto const measured = measured_periods(analysis);
    for (size_t d = 0; d < analysis.devices.size(); ++d) {
      DeviceStats const& device = analysis.devices[d];
      chosen.push_back(facts_for_path(device, device.window));
      periods.emplace_back();
      for (MeasuredPeriod const& period : measured[d]) periods.back().push_back(period.when);
    }

    graph = make_replay_graph(
        {devices, host_steps, analysis.collectives, chosen, periods, launch_latency_limit_ns});
  }
  RecordedReplay(RecordedReplay const&) = delete;
  RecordedReplay& operator=(RecordedReplay const&) = delete;

  [[nodiscard]] ReplayTimes recorded_times() const {
    return replay(graph, graph.recorded.own, graph.recorded.lag);
  }
  /// The first device of the node's process. The node is neither a transfer nor the root.
  [[nodiscard]] DeviceOps const& device_of(ReplayNode const& node) const {
    return graph.processes[node.process].devices.front();
  }

  model::Run const run;
  Analysis const analysis;
  std::vector<DeviceOps> const devices;
  HostSteps const host_steps;
  std::vector<DeviceStats> chosen;
  std::vector<std::vector<Interval>> periods;
  ReplayGraph graph;
};

/// Whether the critical path sees one class on the thread from the begin to the end.
inline bool does_only(InnermostHostEvents& events, Interval when, PathClass path_class) {
  for (int64_t instant = when.end; instant > when.begin;) {
    auto const leaf = events.before(instant);
    if (!leaf || leaf->path_class != path_class) return false;
    instant = leaf->begin;
  }
  return true;
}

}  // namespace stepscope::analyzer::testing_support
