// What TraceBuilder makes of events in any order: sorting, nesting, links, repair and the counts of
// what was wrong.
#include "trace/model/build/trace_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace stepscope::model {
namespace {

Track thread_track() { return {TrackKind::kThread, "main", 1, -1, StreamKind::kCompute, 0}; }
Track stream_track() { return {TrackKind::kStream, "compute", 0, 0, StreamKind::kCompute, 0}; }

base::Column<int64_t> starts(Trace const& trace) { return trace.columns().start; }

TEST(TraceBuilder, NothingGivesAnEmptyTrace) {
  Trace const trace = TraceBuilder().finish();
  EXPECT_EQ(trace.event_count(), 0U);
  EXPECT_EQ(trace.time_range(), (std::pair<int64_t, int64_t>{0, 0}));
}

TEST(TraceBuilder, SortsByStartThenLongerFirstThenAsTheyCame) {
  TraceBuilder builder;
  TrackId const thread = builder.add_track(thread_track());
  EventBatch& events = builder.events(thread);
  events.add(EventKind::kRange, 20, 5, builder.intern("late"));
  events.add(EventKind::kRange, 10, 1, builder.intern("short"));
  events.add(EventKind::kRange, 10, 9, builder.intern("long"));
  events.add(EventKind::kRange, 10, 1, builder.intern("short again"));

  Trace const trace = std::move(builder).finish();
  std::vector<std::string> names;
  for (uint32_t row = 0; row < trace.event_count(); ++row) names.emplace_back(trace.name(row));

  EXPECT_THAT(names, testing::ElementsAre("long", "short", "short again", "late"));
  EXPECT_THAT(trace.columns().depth, testing::ElementsAre(0, 1, 2, 0));
  EXPECT_EQ(trace.time_range(), (std::pair<int64_t, int64_t>{10, 25}));
}

TEST(TraceBuilder, TouchingRangesDoNotNest) {
  TraceBuilder builder;
  EventBatch& events = builder.events(builder.add_track(thread_track()));
  events.add(EventKind::kRange, 0, 10, StringId{0});
  events.add(EventKind::kRange, 10, 10, StringId{0});
  EXPECT_THAT(std::move(builder).finish().columns().depth, testing::ElementsAre(0, 0));
}

TEST(TraceBuilder, DetailsStayWithTheirEventsThroughSorting) {
  TraceBuilder builder;
  EventBatch& events = builder.events(builder.add_track(thread_track()));

  std::mt19937 random(1);
  std::vector<int64_t> times(200);
  for (size_t i = 0; i < times.size(); ++i) times[i] = static_cast<int64_t>(i);
  std::shuffle(times.begin(), times.end(), random);

  for (int64_t const time : times) {
    if (time % 3 == 0)
      events.add(EventKind::kSync, time, 1, StringId{0}, 0,
                 SyncDetail{SyncKind::kStream, static_cast<int32_t>(time), 0});
    if (time % 3 == 1) events.add(EventKind::kStep, time, 1, StringId{0}, 0, StepDetail{time});
    if (time % 3 == 2) events.add(EventKind::kRange, time, 1, StringId{0});
  }

  Trace const trace = std::move(builder).finish();
  ASSERT_EQ(trace.event_count(), 200U);
  for (uint32_t row = 0; row < 200; ++row) {
    EXPECT_EQ(trace.start(row), row);
    if (row % 3 == 0) {
      EXPECT_EQ(trace.detail<SyncDetail>(row).device, static_cast<int32_t>(row));
    }
    if (row % 3 == 1) {
      EXPECT_EQ(trace.detail<StepDetail>(row).index, row);
    }
  }
}

TEST(TraceBuilder, AppendedBatchesGiveTheSameTraceAsOneBatch) {
  auto const build = [](bool split) {
    TraceBuilder builder;
    TrackId const stream = builder.add_track(stream_track());
    EventBatch batch;
    for (int i = 0; i < 10; ++i) {
      batch.add(EventKind::kMemcpy, (7 * i) % 10, 1, StringId{0}, static_cast<uint64_t>(i),
                CopyDetail{static_cast<uint64_t>(i)});
      if (!split) continue;
      builder.append(stream, std::move(batch));
      batch = {};
    }
    builder.append(stream, std::move(batch));
    return std::move(builder).finish();
  };

  Trace const whole = build(false), parts = build(true);
  EXPECT_EQ(starts(whole), starts(parts));
  EXPECT_EQ(whole.columns().correlation, parts.columns().correlation);
  for (uint32_t row = 0; row < 10; ++row)
    EXPECT_EQ(whole.detail<CopyDetail>(row).bytes, parts.detail<CopyDetail>(row).bytes);
}

TEST(TraceBuilder, LinksLaunchesWithTheirOpsBothWays) {
  TraceBuilder builder;
  TrackId const thread = builder.add_track(thread_track()),
                stream = builder.add_track(stream_track());
  builder.events(stream).add(EventKind::kKernel, 30, 5, builder.intern("second node"), 9,
                             KernelDetail{});
  builder.events(stream).add(EventKind::kKernel, 20, 5, builder.intern("first node"), 9,
                             KernelDetail{});
  builder.events(thread).add(EventKind::kLaunch, 10, 2, builder.intern("graph launch"), 9);

  Trace const trace = std::move(builder).finish();
  EXPECT_EQ(trace.columns().link[0].value, 1U);  // the launch → its first op
  EXPECT_EQ(trace.columns().link[1].value, 0U);
  EXPECT_EQ(trace.columns().link[2].value, 0U);
  EXPECT_EQ(
      trace.log().unmatched_launches + trace.log().unmatched_ops + trace.log().negative_latencies,
      0U);
}

/// A kernel at `time` with id 7, as all of them.
void launch_and_run(EventBatch& host, EventBatch& stream, int64_t time) {
  host.add(EventKind::kLaunch, time, 4, StringId{0}, 7);
  stream.add(EventKind::kKernel, time + 10, 5, StringId{0}, 7, KernelDetail());
}

TEST(TraceBuilder, IdsThatBeganAgainLinkOpsWithTheLastLaunchBeforeThem) {
  TraceBuilder builder;
  TrackId const thread = builder.add_track(thread_track()),
                stream = builder.add_track(stream_track());

  for (int64_t const time : {100, 0, 200})
    launch_and_run(builder.events(thread), builder.events(stream), time);

  Trace const trace = std::move(builder).finish();
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(trace.columns().link[3 + i].value, i);
  EXPECT_EQ(trace.log().doubled_launches, 2U);
  EXPECT_EQ(
      trace.log().unmatched_launches + trace.log().unmatched_ops + trace.log().negative_latencies,
      0U);
}

TEST(TraceBuilder, OfCallsWithinEachOtherWithOneIdTheOuterOneLaunches) {
  TraceBuilder builder;
  TrackId const thread = builder.add_track(thread_track()),
                stream = builder.add_track(stream_track());
  builder.events(thread).add(EventKind::kLaunch, 0, 9, StringId{0}, 7);
  builder.events(thread).add(EventKind::kLaunch, 2, 5, StringId{0}, 7);
  builder.events(stream).add(EventKind::kKernel, 20, 5, StringId{0}, 7, KernelDetail());
  Trace const trace = std::move(builder).finish();
  EXPECT_EQ(trace.columns().link[2].value, 0U);
  EXPECT_EQ(trace.log().doubled_launches + trace.log().unmatched_launches, 0U);
}

TEST(TraceBuilder, CountsWhatDoesNotMatch) {
  TraceBuilder builder;
  TrackId const thread = builder.add_track(thread_track()),
                stream = builder.add_track(stream_track());
  builder.events(thread).add(EventKind::kLaunch, 10, 2, StringId{0}, 1);  // no op
  builder.events(thread).add(EventKind::kLaunch, 50, 2, StringId{0}, 2);  // its op starts before it
  builder.events(stream).add(EventKind::kKernel, 20, 5, StringId{0}, 2, KernelDetail{});
  builder.events(stream).add(EventKind::kKernel, 40, 5, StringId{0}, 3,
                             KernelDetail{});  // no launch
  builder.events(stream).add(EventKind::kKernel, 60, 5, StringId{0}, 0,
                             KernelDetail{});  // does not claim one

  Trace const trace = std::move(builder).finish();
  EXPECT_EQ(trace.log().unmatched_launches, 1U);
  EXPECT_EQ(trace.log().unmatched_ops, 1U);
  EXPECT_EQ(trace.log().negative_latencies, 1U);
}

TEST(TraceBuilder, CountsOpsThatOverlapOnOneStream) {
  TraceBuilder builder;
  TrackId const stream = builder.add_track(stream_track()),
                other = builder.add_track(stream_track());

  builder.events(stream).add(EventKind::kKernel, 0, 10, StringId{0}, 0, KernelDetail{});
  builder.events(stream).add(EventKind::kKernel, 2, 3, StringId{0}, 0, KernelDetail{});
  builder.events(stream).add(EventKind::kKernel, 9, 3, StringId{0}, 0,
                             KernelDetail{});  // still within the first
  builder.events(stream).add(EventKind::kKernel, 12, 3, StringId{0}, 0, KernelDetail{});
  builder.events(other).add(EventKind::kKernel, 0, 50, StringId{0}, 0, KernelDetail{});

  EXPECT_EQ(std::move(builder).finish().log().overlapping_slices, 2U);
}

/// A launch of `name` at `time` with its kernel of `duration` right after it.
struct LaunchedStream {
  TraceBuilder builder;
  TrackId thread = builder.add_track(thread_track()), stream = builder.add_track(stream_track());
  uint64_t last_correlation = 0;

  void call(std::string_view name, int64_t time, int64_t duration,
            EventKind kind = EventKind::kLaunch) {
    builder.events(thread).add(kind, time, duration, builder.intern(name), ++last_correlation);
  }
  /// A kernel that the last call launched.
  void op(int64_t time, int64_t duration) {
    builder.events(stream).add(EventKind::kKernel, time, duration, StringId{0}, last_correlation,
                               KernelDetail{});
  }
  ImportLog finish() && { return std::move(builder).finish().log(); }
};

TEST(TraceBuilder, LaunchesThatAGraphCapturesAreNotLost) {
  LaunchedStream run;
  run.call("cudaStreamBeginCapture", 10, 2, EventKind::kApi);
  run.call("cudaLaunchKernel", 20, 2);
  // PyTorch's autograd launches from a thread of its own.
  TrackId const autograd = run.builder.add_track(thread_track());
  run.builder.events(autograd).add(EventKind::kLaunch, 25, 2,
                                   run.builder.intern("cudaLaunchKernelExC"), 50);
  run.call("cudaStreamEndCapture_v10000", 30, 5, EventKind::kApi);
  run.call("cudaLaunchKernel", 40, 2);  // this one is
  EXPECT_EQ(std::move(run).finish().unmatched_launches, 1U);
}

TEST(TraceBuilder, ACaptureWithoutEndHidesNoLostLaunches) {
  LaunchedStream run;
  run.call("cudaStreamEndCapture", 5, 1, EventKind::kApi);
  run.call("cudaStreamBeginCapture", 10, 2, EventKind::kApi);
  run.call("cudaLaunchKernel", 20, 2);
  EXPECT_EQ(std::move(run).finish().unmatched_launches, 1U);
}

TEST(TraceBuilder, MemsetsAndCopiesOfNoBytesAreNotLost) {
  LaunchedStream run;
  for (int64_t time = 0; time < 300; time += 100) {
    run.call("cudaMemsetAsync", time, 40);
    run.op(time + 50, 10);
  }

  run.call("cudaMemsetAsync", 300, 3);  // cuBLASLt clears a workspace of 0 bytes
  run.call("cudaMemsetAsync", 310, 38);
  run.call("cudaLaunchKernel", 400, 1);
  run.call("cudaMemcpyAsync", 500, 1);  // no other call tells how long one takes that copies
  EXPECT_EQ(std::move(run).finish().unmatched_launches, 3U);
}

TEST(TraceBuilder, BranchesOfOneGraphLaunchMayOverlapOnItsStream) {
  LaunchedStream run;
  run.call("cudaGraphLaunch", 0, 5);
  run.op(10, 10);
  run.op(12, 20);
  run.op(19, 2);
  run.call("cudaGraphLaunch", 6, 2);
  run.op(31, 5);  // the first graph ends at 32
  run.op(32, 8);
  EXPECT_EQ(std::move(run).finish().overlapping_slices, 1U);
}

TEST(TraceBuilder, KernelsLaunchedWithAttributesMayBeginEarly) {
  LaunchedStream run;
  run.call("cudaLaunchKernel", 0, 2);
  run.op(10, 10);
  run.call("cudaLaunchKernelExC", 3, 2);
  run.op(19, 5);
  run.call("cudaLaunchKernel", 6, 2);
  run.op(23, 5);
  EXPECT_EQ(std::move(run).finish().overlapping_slices, 1U);
}

TEST(TraceBuilder, CopiesThatTheHostMakesMayOverlapTheStream) {
  LaunchedStream run;
  run.call("cudaLaunchKernel", 0, 2);
  run.op(10, 10);
  run.call("cuMemcpyDtoHAsync", 12, 30);
  CopyDetail copy;
  copy.direction = CopyDirection::kHostToHost;
  run.builder.events(run.stream)
      .add(EventKind::kMemcpy, 13, 28, StringId{0}, run.last_correlation, copy);
  run.call("cudaLaunchKernel", 3, 2);
  run.op(25, 5);

  run.call("cudaMemcpyAsync", 50, 5);  // this copy outlives its call
  run.builder.events(run.stream)
      .add(EventKind::kMemcpy, 52, 8, StringId{0}, run.last_correlation, copy);
  run.call("cudaLaunchKernel", 56, 2);
  run.op(58, 5);
  EXPECT_EQ(std::move(run).finish().overlapping_slices, 1U);
}

TEST(TraceBuilder, CountsOpsThatOverlapOnAThreadThatHoldsOps) {
  TraceBuilder builder;
  TrackId const thread = builder.add_track(thread_track());
  for (int64_t at = 0; at < 100; ++at)
    builder.events(thread).add(EventKind::kRange, at, 5, StringId{0});
  builder.events(thread).add(EventKind::kKernel, 70, 10, StringId{0}, 0, KernelDetail{});
  builder.events(thread).add(EventKind::kKernel, 75, 3, StringId{0}, 0, KernelDetail{});
  Trace const trace = std::move(builder).finish();
  EXPECT_EQ(trace.log().overlapping_slices, 1U);
  EXPECT_EQ(trace.time_range(), (std::pair<int64_t, int64_t>{0, 104}));
}

TEST(TraceBuilder, RepairsDamagedDurations) {
  TraceBuilder builder;
  EventBatch& events = builder.events(builder.add_track(thread_track()));

  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  events.add(EventKind::kRange, 5, -3, StringId{0});
  events.add(EventKind::kRange, 10, kMax, StringId{0});
  events.add(EventKind::kRange, kMax, 1, StringId{0});
  events.add(EventKind::kRange, -kMax, kMax, StringId{0});

  Trace const trace = std::move(builder).finish();
  EXPECT_EQ(trace.log().negative_durations, 1U);
  EXPECT_EQ(trace.log().impossible_times, 3U);
  EXPECT_EQ(trace.time_range(), std::pair(-kMaxTime, kMaxTime));
  for (uint32_t row = 0; row < trace.event_count(); ++row) EXPECT_LE(trace.end(row), kMaxTime);
}

TEST(TraceBuilder, SortsByTheTimesThatItRepaired) {
  TraceBuilder builder;
  EventBatch& events = builder.events(builder.add_track(thread_track()));
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  events.add(EventKind::kRange, kMin, 5, StringId{0});  // all three are moved to the same start
  events.add(EventKind::kRange, kMin + 1, 7, StringId{0});
  events.add(EventKind::kRange, kMin + 2, 6, StringId{0});
  Trace const trace = std::move(builder).finish();
  EXPECT_EQ(trace.columns().start, base::Column<int64_t>(3, -kMaxTime));
  EXPECT_EQ(trace.columns().dur, (base::Column<int64_t>{7, 6, 5}));
}

TEST(TraceBuilder, KeepsTrackIdsAndCountsTheirLosses) {
  TraceBuilder builder;
  TrackId const first = builder.add_track(stream_track()),
                second = builder.add_track(thread_track());

  Track lossy = thread_track();
  lossy.name = "renamed";
  lossy.dropped = 17;
  builder.update_track(second, lossy);
  builder.events(second).add(EventKind::kMark, 1, 0, StringId{0});

  Trace const trace = std::move(builder).finish();
  EXPECT_EQ(trace.tracks()[1].name, "renamed");
  EXPECT_EQ(trace.log().dropped, 17U);
  EXPECT_EQ(trace.rows_of(first).size(), 0U);
  EXPECT_EQ(trace.rows_of(second).size(), 1U);
}

TEST(TraceBuilder, ADeviceIsKnownOnceAndDevicesAreByNumber) {
  TraceBuilder builder;
  builder.add_device({2, "two", 0, 0, 0});
  builder.add_device({0, "zero", 0, 0, 0});
  builder.add_device({2, "two again", 0, 0, 0});
  Trace const trace = std::move(builder).finish();
  ASSERT_EQ(trace.devices().size(), 2U);
  EXPECT_EQ(trace.devices()[0].name, "zero");
  EXPECT_EQ(trace.devices()[1].name, "two again");
}

TEST(TraceBuilderDeathTest, ABatchWithTooFewDetailsIsTheCallersFault) {
  TraceBuilder builder;
  TrackId const stream = builder.add_track(stream_track());
  EventBatch batch;
  batch.add(EventKind::kMemcpy, 0, 1, StringId{0}, 1, CopyDetail{});
  std::get<model::DetailColumn<CopyDetail>>(batch.details).clear();
  EXPECT_DEATH(builder.append(stream, std::move(batch)), "expected");
}

TEST(StringTable, GivesEqualTextsOneIdAndNothingTheFirst) {
  StringTable strings;
  StringId const a = strings.intern("a");
  EXPECT_EQ(strings.intern(std::string("a")), a);
  EXPECT_EQ(strings.intern("").value, 0U);
  EXPECT_EQ(strings.text(a), "a");
  EXPECT_EQ(strings.find("a"), a);
  EXPECT_FALSE(strings.find("b").valid());
}

TEST(StringTable, TextsStayWhereTheyAreWhenItGrowsAndMoves) {
  StringTable strings;
  std::string_view const text = strings.text(strings.intern("short"));
  for (int i = 0; i < 10'000; ++i) strings.intern(std::to_string(i));
  StringTable const moved = std::move(strings);
  EXPECT_EQ(text, "short");
  EXPECT_EQ(moved.find("9999").value, moved.size() - 1);
}

TEST(Kinds, DeviceOpsAreTheFourThatADeviceExecutes) {
  std::vector<EventKind> ops;
  for (int i = 0; i < kKindCount; ++i)
    if (is_device_op(static_cast<EventKind>(i))) ops.push_back(static_cast<EventKind>(i));
  EXPECT_THAT(ops, testing::ElementsAre(EventKind::kKernel, EventKind::kMemcpy, EventKind::kMemset,
                                        EventKind::kCollective));
  EXPECT_EQ(kind_info(EventKind::kMemset).op_class, OpClass::kCompute);
  EXPECT_FALSE(is_known_kind(kKindCount));
}

TEST(Kinds, RangesAndMarksAreThoseWhateverElseTheySay) {
  std::vector<EventKind> ranges, marks;
  for (int i = 0; i < kKindCount; ++i) {
    if (is_range(static_cast<EventKind>(i))) ranges.push_back(static_cast<EventKind>(i));
    if (is_mark(static_cast<EventKind>(i))) marks.push_back(static_cast<EventKind>(i));
  }
  EXPECT_THAT(ranges, testing::ElementsAre(EventKind::kRange, EventKind::kAnnotatedRange));
  EXPECT_THAT(marks, testing::ElementsAre(EventKind::kMark, EventKind::kAnnotatedMark));
}

}  // namespace
}  // namespace stepscope::model
