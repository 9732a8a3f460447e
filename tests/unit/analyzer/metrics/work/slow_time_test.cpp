// Time of ops that could be shorter: kernels without tensor cores, small grids, streams that the
// default stream serializes, copies that block the host.
#include <gtest/gtest.h>

#include <random>

#include "analyzer/analyze.h"
#include "analyzer/metrics/work/kernel_traits.h"
#include "analyzer/metrics/work/slow_time.h"
#include "analyzer/results/analysis.h"
#include "tests/unit/analyzer/rules/work/work_run.h"

namespace stepscope::analyzer {
namespace {

using model::CopyDetail;
using model::CopyDirection;
using model::KernelDetail;
using testing_support::grid_of;
using testing_support::WorkRun;

constexpr char const* kSimt = "volta_sgemm_128x64_nn";

SlowTime slow_of(WorkRun& run) { return analyze(run.finish(17)).devices.at(0).slow; }

TEST(SlowTime, MatrixKernelsWithoutTensorCoresCountWhileNothingElseComputes) {
  WorkRun run;
  run.kernel(0, 100, 0, kSimt)
      .kernel(100, 100, 0, "add")
      .kernel(80, 40, 0, "mul", 8)
      .kernel(300, 50, 0, kSimt);
  EXPECT_EQ(slow_of(run).simt_matrix_ns, 80 + 50);
}

TEST(SlowTime, SmallGridsLoseTheMultiprocessorsWithoutABlock) {
  WorkRun run;
  run.kernel(0, 10'000, 0, "k", 7, grid_of(25));        // 7 µs beyond an empty kernel × 75 %
  run.kernel(20'000, 10'000, 0, "k", 7, grid_of(100));  // a block for each multiprocessor
  run.kernel(40'000, 2'000, 0, "k", 7, grid_of(1));     // takes as long as an empty kernel
  SlowTime const slow = slow_of(run);
  EXPECT_EQ(slow.small_grid_ns, 12'000);
  EXPECT_EQ(slow.small_grid_lost_ns, 5'250);
}

TEST(SlowTime, SmallGridsBesideOtherKernelsLoseNothing) {
  WorkRun run;
  run.kernel(0, 10'000, 0, "k", 7, grid_of(50)).kernel(4'000, 10'000, 0, "l", 8, grid_of(1'000));
  SlowTime const slow = slow_of(run);
  EXPECT_EQ(slow.small_grid_ns, 4'000);
  EXPECT_EQ(slow.small_grid_lost_ns, 500);
}

TEST(SlowTime, ACopyBesideASmallGridTakesNoMultiprocessor) {
  WorkRun run;
  run.kernel(0, 10'000, 0, "k", 7, grid_of(50));
  run.copy(0, 10'000, 0, "copy", {100, CopyDirection::kHostToDevice, -1, 1});
  EXPECT_EQ(slow_of(run).small_grid_ns, 10'000);
}

TEST(SlowTime, WithoutTheNumberOfMultiprocessorsNoGridIsSmall) {
  WorkRun run("GPU", 0);
  run.kernel(0, 10'000, 0, "k", 7, grid_of(1));
  EXPECT_EQ(slow_of(run).small_grid_ns, 0);
}

TEST(SlowTime, StepsHaveTheirOwn) {
  WorkRun run;
  for (int64_t step = 0; step < 3; ++step) {
    run.step(step * 100'000, 50'000, step);
    run.kernel(step * 100'000 + 10'000, 10'000 * (step + 1),
               run.launch(step * 100'000 + 1'000, 500), kSimt, 7, grid_of(50));
  }

  Analysis const analysis = analyze(run.finish());
  ASSERT_EQ(analysis.steps.size(), 3U);
  for (size_t step = 0; step < 3; ++step) {
    int64_t const dur = 10'000 * static_cast<int64_t>(step + 1);
    EXPECT_EQ(analysis.steps[step].slow.simt_matrix_ns, dur);
    EXPECT_EQ(analysis.steps[step].slow.small_grid_ns, dur);
    EXPECT_EQ(analysis.steps[step].slow.small_grid_lost_ns, (dur - 3'000) / 2);
  }
  EXPECT_EQ(analysis.devices[0].slow.simt_matrix_ns, 60'000);
}

/// A kernel on the default stream in [1000, 51000), and one on another stream that is launched
/// meanwhile and starts after it.
struct Pair {
  uint32_t blocks = 40;
  int64_t second_stream = 13;
  int64_t second_launch = 5'000;
  int64_t second_start = 52'000;
  bool waits_for_event = false;
  bool other_thread = false;
  uint32_t graph = 0;
};

int64_t serialized(Pair const& pair) {
  WorkRun run;
  KernelDetail const first = grid_of(50);
  KernelDetail second = grid_of(pair.blocks);
  second.graph = pair.graph;

  run.kernel(200, 100, run.launch(100, 10), "before", pair.second_stream, grid_of(40));
  run.kernel(1'000, 50'000, run.launch(900, 10), "first", 7, first);
  if (pair.waits_for_event) run.host(model::EventKind::kApi, 4'000, 10, "cudaStreamWaitEvent");
  uint64_t const call =
      run.launch(pair.second_launch, 100, "cudaLaunchKernel", pair.other_thread ? 2 : 1);
  run.kernel(pair.second_start, 30'000, call, "second", pair.second_stream, second);

  return slow_of(run).serialized_ns;
}

TEST(SlowTime, KernelsThatTheDefaultStreamKeepsCountWhileTheyCouldHaveRun) {
  EXPECT_EQ(serialized({}), 30'000);  // ready at 5.1 µs; at most what it takes
  EXPECT_EQ(serialized({.second_launch = 40'000}), 10'900);  // ready at 40.1 µs
}

TEST(SlowTime, KernelsThatSomethingElseKeepsAreNotSerialized) {
  EXPECT_EQ(serialized({.blocks = 51}), 0);             // not room for both
  EXPECT_EQ(serialized({.second_stream = 7}), 0);       // in one stream by design
  EXPECT_EQ(serialized({.second_launch = 51'000}), 0);  // launched too late
  EXPECT_EQ(serialized({.second_start = 61'000}), 0);   // something else kept it for 10 µs
  EXPECT_EQ(serialized({.waits_for_event = true}), 0);  // the second depends on the first
  EXPECT_EQ(serialized({.other_thread = true}), 0);     // what it waits for is not known
  EXPECT_EQ(serialized({.graph = 4}), 0);               // nor within a graph
}

TEST(SlowTime, StreamsOfWhichNoneIsTheDefaultAreNotSerialized) {
  WorkRun run;
  run.kernel(200, 100, run.launch(100, 10), "before", 13, grid_of(40));
  run.kernel(1'000, 50'000, run.launch(900, 10), "first", 14, grid_of(50));
  run.kernel(52'000, 30'000, run.launch(5'000, 100), "second", 13, grid_of(40));
  EXPECT_EQ(slow_of(run).serialized_ns, 0);
}

TEST(SlowTime, AStreamThatWasSeenWaitingIsNotSerialized) {
  WorkRun run;
  run.kernel(200, 100, run.launch(100, 10), "before", 13, grid_of(40));
  run.kernel(1'000, 50'000, run.launch(900, 10), "first", 7, grid_of(50));
  run.builder()
      .events(run.stream(13))
      .add(model::EventKind::kStreamWait, 6'000, 45'000, run.builder().intern("wait"), 0,
           model::StreamWaitDetail{0, 7});
  run.kernel(52'000, 30'000, run.launch(5'000, 100), "second", 13, grid_of(40));
  EXPECT_EQ(slow_of(run).serialized_ns, 0);
}

TEST(SlowTime, CopiesOfPageableMemoryCountWhereNothingHidesThem) {
  WorkRun run;
  run.copy(0, 100, 0, "Memcpy HtoD (Pageable -> Device)",
           {100, CopyDirection::kHostToDevice, -1, 0});
  run.kernel(60, 100, 0, "k");
  run.copy(200, 100, 0, "Memcpy HtoD (Pinned -> Device)",
           {100, CopyDirection::kHostToDevice, -1, 1});
  run.copy(400, 30, run.launch(390, 5, "cudaMemcpy"), "Memcpy DtoH (Device -> Pinned)",
           {100, CopyDirection::kDeviceToHost, -1, 1});
  EXPECT_EQ(slow_of(run).slow_copy_ns, 60 + 30);
}

TEST(SlowTime, TheHostsOwnCopyOfPageableMemoryCountsWhileTheDeviceIsIdle) {
  WorkRun run;
  run.kernel(20, 100, run.launch(0, 10));
  run.copy(240, 60, run.launch(100, 150, "cudaMemcpyAsync"), "Memcpy HtoD (Pageable -> Device)",
           {100, CopyDirection::kHostToDevice, -1, 0});
  run.kernel(300, 50, run.launch(255, 10));
  Analysis const analysis = analyze(run.finish());

  EXPECT_EQ(analysis.devices.at(0).slow.slow_copy_ns, 120 + 60);
  ASSERT_EQ(analysis.gaps.size(), 1U);
  EXPECT_EQ(analysis.gaps[0].when, (Interval{120, 240}));
  EXPECT_EQ(analysis.gaps[0].cause, IdleCause::kSync);
  EXPECT_TRUE(analysis.gaps[0].is_staging);
}

constexpr int64_t kUnit = 2'000;  // ns; kernels of several units outlast kEmptyKernelNs

template <class Pick>
void add_random_kernels(WorkRun& run, Pick const& pick) {
  for (int64_t stream = 1; stream <= 3; ++stream) {
    int64_t at = 0;
    for (int64_t i = pick(0, 6); i-- > 0;) {
      at += pick(0, 4) * kUnit;
      int64_t const dur = pick(0, 6) * kUnit;

      run.kernel(at, dur, 0, pick(0, 1) == 0 ? kSimt : "other", stream,
                 grid_of(static_cast<uint32_t>(pick(0, 150))));
      at += dur;
    }
  }
}

/// Time of the window in which only kernels without tensor cores run, unit by unit.
int64_t naive_simt_ns(DeviceOps const& device, model::Trace const& trace, Interval window) {
  int64_t simt = 0;
  for (int64_t at = window.begin; at < window.end; at += kUnit) {
    bool any_simt = false, any_other = false;
    for (uint32_t const row : device.ops)
      if (device.start(row) <= at && at < device.end(row))
        (trace.name(row) == kSimt ? any_simt : any_other) = true;
    simt += any_simt && !any_other ? kUnit : 0;
  }
  return simt;
}

/// Time of the op in which no other op runs, unit by unit.
int64_t naive_alone_ns(DeviceOps const& device, uint32_t row) {
  int64_t alone = 0;
  for (int64_t at = device.start(row); at < device.end(row); at += kUnit) {
    bool shared = false;
    for (uint32_t const other : device.ops)
      shared = shared || (other != row && device.start(other) <= at && at < device.end(other));
    alone += shared ? 0 : kUnit;
  }
  return alone;
}

TEST(NaiveTwin, SlowTimeAgreesForEveryWindow) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    auto const pick = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    WorkRun run;
    add_random_kernels(run, pick);
    model::Run const finished = run.finish();
    model::Trace const& trace = finished.ranks[0].trace;
    if (trace.event_count() == 0) continue;

    DeviceOps const device = index_devices(finished).at(0);
    SlowTimes const slow(device, unite_ops(device), {});
    Interval const window = {pick(0, 10) * kUnit, pick(11, 40) * kUnit};
    int64_t alone_sum = 0, lost_sum = 0;
    for (uint32_t const row : device.ops) {
      uint64_t const blocks = blocks_of(trace.detail<KernelDetail>(row));
      if (blocks == 0 || blocks >= WorkRun::kMultiprocessors) continue;
      if (device.start(row) < window.begin || device.start(row) >= window.end) continue;

      int64_t const alone = naive_alone_ns(device, row);
      alone_sum += alone;
      lost_sum +=
          std::max<int64_t>(0, alone - kEmptyKernelNs) * static_cast<int64_t>(100 - blocks) / 100;
    }

    SlowTime const found = slow.within(window);
    ASSERT_EQ(found.simt_matrix_ns, naive_simt_ns(device, trace, window)) << "seed " << seed;
    ASSERT_EQ(found.small_grid_ns, alone_sum) << "seed " << seed;
    ASSERT_NEAR(static_cast<double>(found.small_grid_lost_ns), static_cast<double>(lost_sum), 20)
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace stepscope::analyzer
