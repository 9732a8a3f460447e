// Launches of ops: latencies, queues and CUDA graphs, compared with a twin that looks at every ns.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/analyze.h"
#include "analyzer/metrics/work/launches.h"
#include "analyzer/results/analysis.h"
#include "tests/unit/analyzer/random_run.h"
#include "tests/unit/analyzer/rules/work/work_run.h"

namespace stepscope::analyzer {
namespace {

using testing_support::WorkRun;

LaunchStats launch_of_only_device(model::Run const& run) {
  return analyze(run).devices.at(0).launch;
}

TEST(Launches, LatencyIsFromTheEndOfTheCallAndNotClipped) {
  WorkRun run;
  run.kernel(130, 10, run.launch(100, 20));  // 10 after the call
  run.kernel(230, 10, run.launch(200, 50));  // 20 before the call returns
  run.kernel(400, 10, run.launch(300, 30));  // 70

  LaunchStats const launch = launch_of_only_device(run.finish(5));
  EXPECT_EQ(launch.calls, 3U);
  EXPECT_EQ(launch.latency_median_ns, 10);
  EXPECT_EQ(launch.latency_p95_ns, 70);
  EXPECT_EQ(launch.latency_max_ns, 70);
  EXPECT_EQ(launch.negative_latencies, 1U);
  EXPECT_EQ(launch.call_median_ns, 30);
  EXPECT_EQ(launch.kernel_median_ns, 10);
  EXPECT_FALSE(launch.calls_per_step);
}

TEST(Launches, WithoutACallThereIsNothingToSay) {
  WorkRun run;
  run.kernel(0, 10, 0).kernel(20, 30, 0);
  LaunchStats const launch = launch_of_only_device(run.finish());
  EXPECT_EQ(launch.calls, 0U);
  EXPECT_FALSE(launch.latency_median_ns || launch.call_median_ns || launch.queue ||
               launch.calls_per_step || launch.graph_share);
  EXPECT_TRUE(launch.streams.empty());
  EXPECT_EQ(launch.kernel_median_ns, 10);  // needs no launch
}

TEST(Launches, TheQueueIsWhatWasCalledAndHasNotStarted) {
  WorkRun run;
  run.kernel(100, 100, run.launch(80, 5));            // [80, 100) is before the window
  run.kernel(200, 50, run.launch(110, 5), "k", 7);    // waits [110, 200)
  run.kernel(300, 100, run.launch(150, 5), "k", 13);  // waits [150, 300)

  LaunchStats const launch = launch_of_only_device(run.finish());  // the window is [100, 400)
  EXPECT_DOUBLE_EQ(launch.queue->mean_depth, (90.0 + 150) / 300);
  EXPECT_EQ(launch.queue->max_depth, 2U);
  EXPECT_DOUBLE_EQ(launch.queue->empty_share, (10.0 + 100) / 300);

  ASSERT_EQ(launch.streams.size(), 2U);
  EXPECT_EQ(launch.streams[0].stream, 7);
  EXPECT_EQ(launch.streams[0].launches, 2U);
  EXPECT_DOUBLE_EQ(launch.streams[0].queue.mean_depth, 90.0 / 300);
  EXPECT_EQ(launch.streams[0].queue.max_depth, 1U);
  EXPECT_EQ(launch.streams[1].stream, 13);
  EXPECT_DOUBLE_EQ(launch.streams[1].queue.mean_depth, 150.0 / 300);
}

TEST(Launches, CallsPerStepLeaveTheWarmUpOut) {
  WorkRun run;
  for (int64_t step = 0; step < 6; ++step) {
    int64_t const begin = step * 1000;
    run.step(begin, 900, step);
    for (int64_t i = 0; i < (step == 0 ? 50 : 4); ++i)
      run.kernel(begin + 10 + i * 10, 5, run.launch(begin + 2 + i * 10, 1));
  }
  EXPECT_DOUBLE_EQ(*launch_of_only_device(run.finish()).calls_per_step, 4);
}

model::KernelDetail graph_node(uint32_t graph, uint64_t node) {
  model::KernelDetail detail;
  detail.graph = graph;
  detail.graph_node = node;
  return detail;
}

TEST(Launches, OpsOfACudaGraphAreItsNodesAndShareALaunch) {
  WorkRun run;
  run.kernel(0, 100, run.launch(-20, 5));
  for (int64_t round = 0; round < 2; ++round) {
    int64_t const at = 200 + round * 1000;
    uint64_t const call = run.launch(at - 50, 10, "cudaGraphLaunch");
    run.kernel(at, 50, call, "a", 7, graph_node(3, 11));
    run.kernel(at + 20, 100, call, "b", 8, graph_node(3, 12));  // overlaps a, until at + 120
    run.collective(at + 150, 30, call, {.graph = 3, .graph_node = 13});  // 30 after b
  }

  Analysis const analysis = analyze(run.finish());
  ASSERT_EQ(analysis.graphs.size(), 1U);
  GraphStats const& graph = analysis.graphs[0];

  EXPECT_EQ(graph.graph, 3U);
  EXPECT_EQ(graph.launches, 2U);
  EXPECT_EQ(graph.ops, 6U);
  EXPECT_EQ(graph.nodes, 3U);
  EXPECT_EQ(graph.total_ns, 2 * 180);
  EXPECT_EQ(graph.gap_ns, 2 * 30);

  LaunchStats const& launch = analysis.devices[0].launch;
  EXPECT_EQ(launch.calls, 3U);  // a graph's ops are launched by one call
  EXPECT_EQ(launch.graph_ops, 6U);
  EXPECT_EQ(launch.graph_launches, 2U);
  EXPECT_DOUBLE_EQ(*launch.graph_share, 360.0 / 460);
}

TEST(Launches, AGraphThatWasRecordedWholeHasNoNodes) {
  WorkRun run;
  run.kernel(0, 100, run.launch(-20, 5, "cudaGraphLaunch"), "CUDA graph 9", 7, graph_node(9, 0));
  Analysis const analysis = analyze(run.finish());
  ASSERT_EQ(analysis.graphs.size(), 1U);
  EXPECT_FALSE(analysis.graphs[0].nodes);
}

TEST(Launches, OpsOfAGraphWhoseCallsAreMissingAreStillItsOps) {
  WorkRun run;
  run.kernel(0, 10, 0, "a", 7, graph_node(2, 1)).kernel(500, 10, 0, "b", 7, graph_node(2, 2));
  Analysis const analysis = analyze(run.finish());
  ASSERT_EQ(analysis.graphs.size(), 1U);
  EXPECT_EQ(analysis.graphs[0].ops, 2U);
  EXPECT_EQ(analysis.graphs[0].launches, 0U);
  EXPECT_EQ(analysis.graphs[0].gap_ns, 0);  // which ops belong together is not recorded
}

TEST(Launches, FurtherGraphsAreCountedTogether) {
  WorkRun run;
  for (uint32_t graph = 1; graph <= kMostGraphs + 5; ++graph)
    run.kernel(graph * 100, static_cast<int64_t>(graph % 7) + 10, run.launch(graph * 100 - 50, 5),
               "k", 7, graph_node(graph, 1));

  Analysis const analysis = analyze(run.finish());
  ASSERT_EQ(analysis.graphs.size(), kMostGraphs + 1);
  EXPECT_EQ(analysis.graphs.back().graph, 0U);
  EXPECT_EQ(analysis.graphs.back().ops, 5U);

  int64_t total = 0;
  for (GraphStats const& graph : analysis.graphs) total += graph.total_ns;
  EXPECT_EQ(total, analysis.kernels.at(0).total_ns);
}

/// The queue counted ns by ns.
struct NaiveQueue {
  uint64_t most = 0;
  double mean = 0, empty = 0;
  NaiveQueue(model::Trace const& trace, int64_t offset, Interval window,
             std::set<uint32_t> const& tracks) {
    auto const& columns = trace.columns();

    for (int64_t ns = window.begin - 500; ns < window.end; ++ns) {
      uint64_t depth = 0;
      for (uint32_t row = 0; row < trace.event_count(); ++row) {
        if (columns.kind[row] != model::EventKind::kLaunch || !columns.link[row].valid()) continue;
        uint32_t const op = columns.link[row].value;
        if (!tracks.contains(columns.track[op].value)) continue;
        if (columns.start[row] + offset <= ns && ns < columns.start[op] + offset) ++depth;
      }

      most = std::max(most, depth);
      if (ns < window.begin || window.length() == 0) continue;
      mean += static_cast<double>(depth) / static_cast<double>(window.length());
      empty += (depth == 0 ? 1.0 : 0.0) / static_cast<double>(window.length());
    }
  }
  void expect(QueueStats const& queue) const {
    EXPECT_EQ(queue.max_depth, most);
    EXPECT_NEAR(queue.mean_depth, mean, 1e-9);
    EXPECT_NEAR(queue.empty_share, empty, 1e-9);
  }
};

TEST(NaiveTwin, QueuesAgreeForRandomRuns) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    model::Run const run = testing_support::RandomRun(seed, seed % 3 == 0).make();
    Analysis const analysis = analyze(run);
    DeviceStats const& device = analysis.devices.at(0);
    model::Trace const& trace = run.ranks[0].trace;

    std::map<int64_t, std::set<uint32_t>> streams;
    std::set<uint32_t> all;
    for (uint32_t track = 0; track < trace.tracks().size(); ++track)
      if (trace.tracks()[track].kind == model::TrackKind::kStream) {
        streams[trace.tracks()[track].id].insert(track);
        all.insert(track);
      }

    if (device.launch.queue)
      NaiveQueue(trace, run.ranks[0].offset_ns, device.window, all).expect(*device.launch.queue);
    for (StreamQueue const& stream : device.launch.streams)
      NaiveQueue(trace, run.ranks[0].offset_ns, device.window, streams.at(stream.stream))
          .expect(stream.queue);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(NaiveTwin, LaunchedOpsAreAllThatHaveALaunchInOrder) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    model::Run const run = testing_support::RandomRun(seed).make();
    DeviceOps const device = index_devices(run).at(0);
    for (size_t part : {device.ops.size(), device.ops.size() / 2}) {
      std::vector<uint32_t> const rows(device.ops.begin(),
                                       device.ops.begin() + static_cast<ptrdiff_t>(part));

      std::vector<LaunchedOp> expected;
      for (uint32_t const row : rows)
        if (auto const launch = device.launch_of(row)) expected.push_back({*launch, row});
      std::sort(expected.begin(), expected.end());
      ASSERT_EQ(launched_ops(device, rows), expected) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace stepscope::analyzer
