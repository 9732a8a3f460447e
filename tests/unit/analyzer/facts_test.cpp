// Single results on runs small enough to check by hand: memory, kernel table, step names, trace
// integrity, and edge cases of the input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "analyzer/analyze.h"
#include "analyzer/metrics/host/host_activity.h"
#include "analyzer/metrics/memory/memory_growth.h"
#include "analyzer/metrics/steps/step_names.h"
#include "analyzer/metrics/telemetry/trace_integrity.h"
#include "analyzer/results/analysis.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::analyzer {
namespace {

using namespace model;

Track thread_track() { return {TrackKind::kThread, "main", 1, -1, StreamKind::kCompute, 0}; }
Track stream_track(int64_t number = 0) {
  return {TrackKind::kStream, "stream", number, 0, StreamKind::kCompute, 0};
}

Run run_of(TraceBuilder&& builder, int64_t offset = 0) {
  model::Run run;
  run.ranks.push_back({std::move(builder).finish(), offset, ""});
  return run;
}

TEST(Edges, NoRanksNoEventsNoDevices) {
  EXPECT_TRUE(analyze({}).devices.empty());
  EXPECT_TRUE(analyze(run_of(TraceBuilder())).devices.empty());

  TraceBuilder builder;
  builder.add_device({0, "idle", 0, 0, 0});
  Analysis const analysis = analyze(run_of(std::move(builder)));
  ASSERT_EQ(analysis.devices.size(), 1U);

  EXPECT_EQ(analysis.devices[0].time.window_ns, 0);
  EXPECT_FALSE(analysis.devices[0].time.utilization());
  EXPECT_FALSE(analysis.devices[0].time.overlap());
  EXPECT_FALSE(analysis.devices[0].memory.peak_allocated_bytes);
}

TEST(Edges, OneKernelWithoutALaunch) {
  TraceBuilder builder;
  builder.events(builder.add_track(stream_track()))
      .add(EventKind::kKernel, 100, 50, builder.intern("k"), 0, KernelDetail{});
  Analysis const analysis = analyze(run_of(std::move(builder), 7));
  EXPECT_EQ(analysis.devices[0].window, (Interval{107, 157}));
  EXPECT_EQ(analysis.devices[0].time.compute_ns, 50);
  EXPECT_EQ(analysis.devices[0].launches, 0U);
  EXPECT_TRUE(analysis.gaps.empty());
}

TEST(Edges, AnOpOfNoDurationNeitherSplitsAGapNorEndsIt) {
  TraceBuilder builder;
  EventBatch& events = builder.events(builder.add_track(stream_track()));
  events.add(EventKind::kKernel, 0, 10, builder.intern("k"), 0, KernelDetail{});
  events.add(EventKind::kMemset, 50, 0, builder.intern("nothing"), 0, CopyDetail{});
  events.add(EventKind::kKernel, 90, 10, builder.intern("k"), 0, KernelDetail{});
  Analysis const analysis = analyze(run_of(std::move(builder)));
  ASSERT_EQ(analysis.gaps.size(), 1U);
  EXPECT_EQ(analysis.gaps[0].when, (Interval{10, 90}));
  EXPECT_EQ(analysis.gaps[0].next_op_row, EventId{2});
}

TEST(Edges, AThousandStreamsAreOneDevice) {
  TraceBuilder builder;
  for (int64_t s = 0; s < 1000; ++s)
    builder.events(builder.add_track(stream_track(s)))
        .add(EventKind::kKernel, (s * 37) % 1000 * 10, 10, builder.intern("k"), 0, KernelDetail{});
  Analysis const analysis = analyze(run_of(std::move(builder)));
  ASSERT_EQ(analysis.devices.size(), 1U);
  EXPECT_EQ(analysis.devices[0].time.busy_ns, 10'000);
  EXPECT_EQ(analysis.devices[0].time.idle_ns, 0);
}

TEST(Trap, UtilizationOfOverlappingKernelsDoesNotPassOne) {
  TraceBuilder builder;
  for (int64_t s = 0; s < 4; ++s)
    builder.events(builder.add_track(stream_track(s)))
        .add(EventKind::kKernel, 0, 100, builder.intern("k"), 0, KernelDetail{});
  EXPECT_DOUBLE_EQ(*analyze(run_of(std::move(builder))).devices[0].time.utilization(), 1.0);
}

TEST(Trap, BusyTimeIsOverAllStreamsNotOne) {
  TraceBuilder builder;
  builder.events(builder.add_track(stream_track(0)))
      .add(EventKind::kKernel, 0, 40, builder.intern("k"), 0, KernelDetail{});
  builder.events(builder.add_track(stream_track(1)))
      .add(EventKind::kKernel, 60, 40, builder.intern("k"), 0, KernelDetail{});
  Analysis const analysis = analyze(run_of(std::move(builder)));
  EXPECT_EQ(analysis.devices[0].time.busy_ns, 80);
  EXPECT_EQ(analysis.devices[0].time.idle_ns, 20);
}

TEST(Trap, TheLaunchLatencyLimitIsInNanoseconds) {
  auto const gap_cause = [](int64_t gap) {
    TraceBuilder builder;
    TrackId const thread = builder.add_track(thread_track()),
                  stream = builder.add_track(stream_track());
    builder.events(stream).add(EventKind::kKernel, 1000, 1000, builder.intern("k"), 0,
                               KernelDetail{});
    builder.events(thread).add(EventKind::kLaunch, 1500, 10, builder.intern("launch"), 1);
    builder.events(stream).add(EventKind::kKernel, 2000 + gap, 1000, builder.intern("k"), 1,
                               KernelDetail{});
    return analyze(run_of(std::move(builder))).gaps[0].cause;
  };

  EXPECT_EQ(gap_cause(9'999), IdleCause::kLaunchLatency);
  EXPECT_EQ(gap_cause(10'000), IdleCause::kUnexplained);
}

TEST(IdleCauses, LaunchedOpsOfAHostDeviceWaitForItsThreadHoweverLong) {
  auto const gap_cause = [](char const* device, bool is_launched) {
    TraceBuilder builder;
    builder.add_device({0, device, 0, 1, 0});
    TrackId const thread = builder.add_track(thread_track()),
                  stream = builder.add_track(stream_track());
    builder.events(stream).add(EventKind::kKernel, 1'000, 1'000, builder.intern("k"), 0,
                               KernelDetail{});
    if (is_launched)
      builder.events(thread).add(EventKind::kLaunch, 1'500, 10, builder.intern("launch"), 1);
    builder.events(stream).add(EventKind::kKernel, 9'002'000, 1'000, builder.intern("k"), 1,
                               KernelDetail{});
    return analyze(run_of(std::move(builder))).gaps[0].cause;
  };

  EXPECT_EQ(gap_cause("host:0", true), IdleCause::kLaunchLatency);
  EXPECT_EQ(gap_cause("host:0", false), IdleCause::kUnexplained);
  EXPECT_EQ(gap_cause("GPU", true), IdleCause::kUnexplained);
}

TEST(IdleCauses, LaterNodesOfAGraphLaunchAreTheGraphs) {
  TraceBuilder builder;
  TrackId const thread = builder.add_track(thread_track()),
                stream = builder.add_track(stream_track());

  builder.events(thread).add(EventKind::kLaunch, 0, 10, builder.intern("cudaGraphLaunch"), 1);
  builder.events(stream).add(EventKind::kKernel, 20, 10, builder.intern("node"), 1, KernelDetail{});
  builder.events(stream).add(EventKind::kKernel, 100, 10, builder.intern("node"), 1,
                             KernelDetail{});

  Analysis const analysis = analyze(run_of(std::move(builder)));
  ASSERT_EQ(analysis.gaps.size(), 1U);
  EXPECT_EQ(analysis.gaps[0].cause, IdleCause::kGraph);
}

TEST(IdleCauses, AFrameworksLoaderRangeCountsAsWaitingForInput) {
  EXPECT_TRUE(is_input_wait_name("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"));
  EXPECT_TRUE(is_input_wait_name("DataLoader.__next__"));
  EXPECT_TRUE(is_input_wait_name("IteratorGetNext"));
  EXPECT_FALSE(is_input_wait_name("DataLoader.__init__"));
  EXPECT_FALSE(is_input_wait_name("aten::__next__"));
}

TEST(Steps, NamesWithAStepPattern) {
  EXPECT_EQ(step_number("step 12"), 12);
  EXPECT_EQ(step_number("ProfilerStep#7"), 7);
  EXPECT_EQ(step_number("Iteration: 0"), 0);
  EXPECT_EQ(step_number("train_step_3"), 3);
  EXPECT_EQ(step_number("ITER 5"), 5);
  EXPECT_EQ(step_number("train/step 5"), 5);
  EXPECT_EQ(step_number("train_step.5"), 5);
  EXPECT_EQ(step_number("step(5)"), 5);
  EXPECT_EQ(step_number("step 5 of 8"), 5);
  EXPECT_EQ(step_number("[epoch 1] step 5"), 5);
  EXPECT_EQ(step_number("ProfilerStep*"), 0);

  for (std::string_view const name :
       {"", "step", "step 1 of the loader", "step 0.5 s", "optimizer.step 4", "steps 4", "12",
        "stepper 3", "step 99999999999999999999"})
    EXPECT_FALSE(step_number(name)) << name;
}

TEST(Steps, WithoutLaunchesOpsBelongToTheStepInWhichTheyBegin) {
  TraceBuilder builder;
  TrackId const thread = builder.add_track(thread_track()),
                stream = builder.add_track(stream_track());

  for (int64_t step = 0; step < 3; ++step)
    builder.events(thread).add(EventKind::kStep, 1000 * step, 1000, builder.intern("step"), 0,
                               StepDetail{step});

  builder.events(stream).add(EventKind::kKernel, 100, 500, builder.intern("a"), 0, KernelDetail{});
  builder.events(stream).add(EventKind::kKernel, 900, 300, builder.intern("b"), 0, KernelDetail{});
  builder.events(stream).add(EventKind::kKernel, 2100, 500, builder.intern("c"), 0, KernelDetail{});
  Analysis const analysis = analyze(run_of(std::move(builder)));

  ASSERT_EQ(analysis.steps.size(), 2U);
  EXPECT_EQ(analysis.steps[0].window.end, 1200);
  EXPECT_EQ(analysis.steps[1].step, 2);
  EXPECT_EQ(analysis.ops_outside_steps, 0U);
  EXPECT_THAT(analysis.integrity.notes,
              testing::Contains(testing::StartsWith("a device has no recorded launch")));
}

TEST(Steps, AStepInsideAStepIsNotAnother) {
  TraceBuilder builder;
  TrackId const thread = builder.add_track(thread_track()),
                stream = builder.add_track(stream_track());
  builder.events(thread).add(EventKind::kStep, 0, 1000, builder.intern("step"), 0, StepDetail{4});
  builder.events(thread).add(EventKind::kStep, 100, 200, builder.intern("step"), 0, StepDetail{0});

  builder.events(thread).add(EventKind::kLaunch, 150, 10, builder.intern("launch"), 1);
  builder.events(stream).add(EventKind::kKernel, 170, 500, builder.intern("k"), 1, KernelDetail{});
  Analysis const analysis = analyze(run_of(std::move(builder)));

  ASSERT_EQ(analysis.steps.size(), 1U);
  EXPECT_EQ(analysis.steps[0].step, 4);
  EXPECT_EQ(analysis.steps[0].window, (Interval{0, 670}));
}

TEST(Steps, AHelperThreadsLaunchesBelongToTheProcesssStep) {
  TraceBuilder builder;
  TrackId const trainer = builder.add_track(thread_track()),
                helper = builder.add_track(thread_track()),
                stream = builder.add_track(stream_track());

  builder.events(trainer).add(EventKind::kStep, 0, 1000, builder.intern("step"), 0, StepDetail{0});
  builder.events(trainer).add(EventKind::kStep, 1000, 1000, builder.intern("step"), 0,
                              StepDetail{1});
  builder.events(helper).add(EventKind::kLaunch, 1100, 10, builder.intern("launch"), 1);
  builder.events(stream).add(EventKind::kKernel, 1200, 100, builder.intern("k"), 1, KernelDetail{});

  Analysis const analysis = analyze(run_of(std::move(builder)));
  ASSERT_EQ(analysis.steps.size(), 1U);
  EXPECT_EQ(analysis.steps[0].step, 1);
}

TEST(Steps, ADevicesOwnStepsHoldTheOpsThatBeginInThem) {
  TraceBuilder builder;
  TrackId const own =
      builder.add_track({TrackKind::kThread, "Steps (TPU 0)", 0, 0, StreamKind::kCompute, 0});
  TrackId const thread = builder.add_track(thread_track()),
                stream = builder.add_track(stream_track());
  TrackId const other =
      builder.add_track({TrackKind::kStream, "stream", 0, 1, StreamKind::kCompute, 0});

  builder.events(own).add(EventKind::kStep, 0, 100, builder.intern("1"), 0, StepDetail{1});
  builder.events(own).add(EventKind::kStep, 100, 100, builder.intern("2"), 0, StepDetail{2});
  builder.events(thread).add(EventKind::kLaunch, 10, 5, builder.intern("launch"),
                             1);  // the host runs ahead
  builder.events(stream).add(EventKind::kKernel, 90, 30, builder.intern("k"), 0, KernelDetail{});
  builder.events(stream).add(EventKind::kKernel, 130, 20, builder.intern("k"), 1, KernelDetail{});
  builder.events(other).add(EventKind::kKernel, 130, 20, builder.intern("k"), 0, KernelDetail{});

  Analysis const analysis = analyze(run_of(std::move(builder)));
  ASSERT_EQ(analysis.steps.size(), 2U);
  EXPECT_EQ(analysis.steps[0].ref.device, 0);
  EXPECT_EQ(analysis.steps[0].window, (Interval{0, 120}));
  EXPECT_EQ(analysis.steps[1].window, (Interval{120, 150}));
}

TEST(TraceIntegrity, FaultsWithoutACountOfTheirOwnAreNotes) {
  TraceBuilder builder;
  builder.log().negative_durations = 1;
  TrackId const stream = builder.add_track(stream_track());
  builder.events(stream).add(EventKind::kKernel, 100, 500, builder.intern("a"), 0, KernelDetail{});
  TraceIntegrity const integrity = judge_trace_integrity(run_of(std::move(builder)));
  EXPECT_LT(integrity.score, 100);
  EXPECT_THAT(
      integrity.notes,
      testing::Contains("1 event has an end before its begin: each is taken as an instant"));
}

TEST(Kernels, MedianAndTailAreDurationsThatOccurred) {
  TraceBuilder builder;
  EventBatch& events = builder.events(builder.add_track(stream_track()));
  std::vector<int64_t> durations(100);
  std::iota(durations.begin(), durations.end(), 1);
  std::shuffle(durations.begin(), durations.end(), std::mt19937(1));
  int64_t at = 0;
  for (int64_t const dur : durations) {
    KernelDetail detail;
    detail.flops = 3.0 * static_cast<double>(dur);
    events.add(EventKind::kKernel, at, dur, builder.intern("k"), 0, detail);
    at += 1000;
  }
  events.add(EventKind::kMemcpy, at, 50, builder.intern("copy"), 0, CopyDetail{});
  Analysis const analysis = analyze(run_of(std::move(builder)));
  ASSERT_EQ(analysis.kernels.size(), 2U);

  KernelStats const& k = analysis.kernels[0];
  EXPECT_EQ(k.count, 100U);
  EXPECT_EQ(k.total_ns, 5050);
  EXPECT_EQ(k.median_ns, 50);
  EXPECT_EQ(k.p95_ns, 95);
  EXPECT_EQ(k.min_ns, 1);
  EXPECT_EQ(k.max_ns, 100);
  EXPECT_DOUBLE_EQ(k.share, 5050.0 / 5100);
  EXPECT_DOUBLE_EQ(*k.flops_rate, 3e9);
  EXPECT_FALSE(analysis.kernels[1].flops_rate);
}

TEST(Memory, FollowsCallsOfAllThreadsByTheirEnd) {
  TraceBuilder builder;
  builder.add_device({0, "d", 1000, 0, 0});
  TrackId const a = builder.add_track(thread_track()), b = builder.add_track(thread_track());
  auto const call = [&](TrackId thread, int64_t start, int64_t dur, MemoryDetail const& detail) {
    builder.events(thread).add(EventKind::kMemory, start, dur, builder.intern("m"), 0, detail);
  };

  call(b, 15, 10, {0x2, 50, 150, 256, 0, MemoryOp::kAllocate, MemoryPurpose::kActivations});
  call(a, 10, 10, {0x1, 100, 100, 256, 0, MemoryOp::kAllocate, MemoryPurpose::kWeights});
  call(a, 30, 10, {0x2, 0, 100, 256, 0, MemoryOp::kFree, MemoryPurpose::kOther});
  MemoryStats const memory = analyze(run_of(std::move(builder))).devices[0].memory;

  ASSERT_EQ(memory.timeline.size(), 3U);
  EXPECT_EQ(memory.timeline[0].time_ns, 20);
  EXPECT_EQ(memory.timeline[1].by_purpose[static_cast<size_t>(MemoryPurpose::kActivations)], 50U);
  EXPECT_EQ(memory.timeline[2].by_purpose[static_cast<size_t>(MemoryPurpose::kActivations)], 0U);
  EXPECT_EQ(memory.peak_allocated_bytes, 150U);
  EXPECT_EQ(memory.peak_reserved_bytes, 256U);
  EXPECT_EQ(memory.capacity_bytes, 1000U);
  EXPECT_FALSE(memory.fragmentation);
}

TEST(Memory, WhatWasAllocatedBeforeTheCaptureIsOther) {
  TraceBuilder builder;
  builder.events(builder.add_track(thread_track()))
      .add(EventKind::kMemory, 0, 1, builder.intern("m"), 0,
           MemoryDetail{0x1, 10, 510, 0, 0, MemoryOp::kAllocate, MemoryPurpose::kInput});
  builder.add_track(stream_track());
  MemoryStats const memory = analyze(run_of(std::move(builder))).devices[0].memory;
  EXPECT_EQ(memory.by_purpose_at_peak[0], 500U);
  EXPECT_EQ(memory.by_purpose_at_peak[static_cast<size_t>(MemoryPurpose::kInput)], 10U);
  EXPECT_FALSE(memory.peak_reserved_bytes);
}

TEST(Memory, TheFloorOfAStepIsItsLowestLevelTheOneItBeganWithIncluded) {
  auto const point = [](int64_t time, uint64_t bytes) {
    return MemoryStats::Point{time, bytes, 0, {}};
  };
  std::vector<MemoryStats::Point> const timeline = {point(0, 100), point(15, 300), point(25, 200),
                                                    point(40, 50)};
  auto const floors = memory_floors(timeline, {{-5, 0}, {10, 20}, {20, 30}, {30, 60}});
  EXPECT_THAT(floors, testing::ElementsAre(std::nullopt, 100U, 200U, 50U));
}

TEST(Memory, GrowthNeedsFiveSteps) {
  std::vector<std::optional<uint64_t>> floors = {10, 20, 30, 40};
  EXPECT_FALSE(floor_growth(floors));
  floors.emplace_back(50);
  EXPECT_DOUBLE_EQ(*floor_growth(floors), 10);
}

TEST(TraceIntegrity, ScoresFaultsAndNamesMissingRanks) {
  TraceBuilder builder;
  builder.info().rank = 1;
  builder.info().world_size = 3;
  builder.log().truncated = true;
  builder.log().notes = {"cut off"};

  Track lossy = thread_track();
  lossy.dropped = 10;
  TrackId const track = builder.add_track(lossy);
  for (int i = 0; i < 90; ++i)
    builder.events(track).add(EventKind::kMark, i, 0, builder.intern("m"));
  model::Run const run = run_of(std::move(builder));

  TraceIntegrity const integrity = analyze(run).integrity;
  EXPECT_EQ(integrity.dropped, 10U);
  EXPECT_TRUE(integrity.truncated);
  EXPECT_THAT(integrity.missing_ranks, testing::ElementsAre(0, 2));
  EXPECT_EQ(integrity.score, 100 - 10 - 5 - 20);
  EXPECT_THAT(integrity.notes, testing::ElementsAre("cut off"));

  auto const findings = analyze(run).findings;
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "trace-quality");
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
}

/// One trace a rank, without a world size; on each device one op of `detail`.
model::Run run_of_ranks(std::vector<int32_t> const& ranks, CollectiveDetail detail,
                        int32_t devices = 1) {
  model::Run run;
  for (int32_t const rank : ranks) {
    TraceBuilder builder;
    builder.info().rank = rank;

    for (int32_t device = 0; device < devices; ++device) {
      TrackId const stream = builder.add_track(
          {TrackKind::kStream, "comm", 20, device, StreamKind::kCommunication, 0});
      builder.events(stream).add(EventKind::kCollective, 0, 10, builder.intern("c"), 0, detail);
    }
    run.ranks.push_back({std::move(builder).finish(), 0, ""});
  }
  return run;
}
CollectiveDetail of_four(CollectiveOp op) {
  return {.bytes = 64, .communicator = 5, .sequence = 1, .op = op, .participants = 4};
}

TEST(TraceIntegrity, RanksKnownOnlyFromCollectivesAreMissing) {
  using testing::ElementsAre;
  auto const missing = [](std::vector<int32_t> const& ranks) {
    return judge_trace_integrity(run_of_ranks(ranks, of_four(CollectiveOp::kAllReduce)))
        .missing_ranks;
  };

  EXPECT_THAT(missing({0, 2, 3}), ElementsAre(1));
  EXPECT_THAT(missing({0, 1}), ElementsAre(2, 3));
  EXPECT_THAT(missing({0, 1, 2, 3}), ElementsAre());

  model::Run const run = run_of_ranks({0, 1}, of_four(CollectiveOp::kAllReduce));
  EXPECT_EQ(job_size(run).ranks, 4);
  EXPECT_EQ(job_size(run).source, JobSize::Source::kCollectives);
}

TEST(TraceIntegrity, RanksBelowTheHighestAreMissing) {
  model::Run const run = run_of_ranks({0, 2}, {.op = CollectiveOp::kAllReduce});
  EXPECT_THAT(judge_trace_integrity(run).missing_ranks, testing::ElementsAre(1));
  EXPECT_EQ(job_size(run).source, JobSize::Source::kHighestRank);
}

TEST(TraceIntegrity, RunsWithMessagesOrSeveralDevicesARankLackNoRank) {
  EXPECT_TRUE(judge_trace_integrity(run_of_ranks({0, 1}, of_four(CollectiveOp::kSend)))
                  .missing_ranks.empty());
  EXPECT_TRUE(judge_trace_integrity(run_of_ranks({0}, of_four(CollectiveOp::kAllReduce), 4))
                  .missing_ranks.empty());
  EXPECT_TRUE(judge_trace_integrity(run_of_ranks({0, 1}, of_four(CollectiveOp::kAllReduce), 2))
                  .missing_ranks.empty());
}

TEST(TraceIntegrity, SeveralMembersOfOneCommunicatorAreNoRanks) {
  TraceBuilder builder;
  TrackId const calls = builder.add_track(thread_track());
  for (int32_t member = 0; member < 2; ++member) {
    CollectiveDetail detail = of_four(CollectiveOp::kAllReduce);
    detail.rank = member;
    builder.events(calls).add(EventKind::kCollectiveCall, member, 1, builder.intern("c"), 0,
                              detail);
  }
  EXPECT_TRUE(judge_trace_integrity(run_of(std::move(builder))).missing_ranks.empty());
}

TEST(TraceIntegrity, WithoutAnyEventNothingCanBeTrusted) {
  EXPECT_EQ(judge_trace_integrity(run_of(TraceBuilder())).score, 0);
  EXPECT_EQ(judge_trace_integrity({}).score, 100);
}

}  // namespace
}  // namespace stepscope::analyzer
