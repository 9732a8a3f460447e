// The replay of a synthetic data-parallel job: what building the graph takes, and what each further
// change. Target: a graph of 2.2 M device ops in 0.6 s, a change in 40 ms.
#include <cstdio>

#include "analyzer/analyze.h"
#include "analyzer/metrics/steps/measured_steps.h"
#include "analyzer/metrics/steps/step_detection.h"
#include "analyzer/whatif/replay/predicted_timeline.h"
#include "analyzer/whatif/replay/replay.h"
#include "bench/median.h"
#include "trace/base/malloc_tuning.h"
#include "trace/import/open/open_run.h"

namespace {

using namespace stepscope;
using namespace stepscope::analyzer;

constexpr int kRepeats = 7;

ReplayGraph build(std::vector<DeviceOps> const& devices, HostSteps const& steps,
                  Analysis const& analysis) {
  std::vector<std::vector<Interval>> periods;
  for (auto const& of_device : measured_periods(analysis)) {
    periods.emplace_back();
    for (MeasuredPeriod const& period : of_device) periods.back().push_back(period.when);
  }
  return make_replay_graph({devices, steps, analysis.collectives, analysis.devices, periods});
}

}  // namespace

/// RUN: a run folder that memory holds.
int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: whatif_replay RUN\n");
    return 2;
  }

  base::keep_freed_memory();  // as every command does that opens a run

  auto const run = import::open_run({argv[1]});
  if (!run) {
    std::fprintf(stderr, "%s\n", run.error().message.c_str());
    return 2;
  }
  Analysis const analysis = analyze(*run);
  auto const devices = index_devices(*run);
  HostSteps const steps = find_steps(*run, devices);
  size_t ops = 0;
  for (DeviceOps const& device : devices) ops += device.ops.size();

  ReplayGraph graph;
  double const build_s =
      bench::median_s(kRepeats, [&] { graph = build(devices, steps, analysis); });
  ReplayTimes times;
  double const replay_s = bench::median_s(kRepeats, [&] {
    ReplayWeights const weights = copy_weights(graph.recorded);
    times = replay(graph, weights.own, weights.lag);
  });
  double const path_s = bench::median_s(
      kRepeats, [&] { static_cast<void>(replay_path(graph, graph.recorded, times)); });

  PredictedTimeline timeline;
  double const timeline_s = bench::median_s(
      kRepeats, [&] { timeline = predicted_timeline(graph, graph.recorded, times, times); });

  std::printf("%zu device ops, %zu nodes, %zu edges\n", ops, graph.nodes.size(),
              graph.source.size());
  std::printf("graph %.3f s, one replay %.1f ms, its critical path %.1f ms, its timeline %.1f ms\n",
              build_s, replay_s * 1e3, path_s * 1e3, timeline_s * 1e3);
  return 0;
}
