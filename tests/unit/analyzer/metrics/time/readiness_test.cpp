// Exposed communication during which no other op was ready.
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "tests/support/sanitized.h"
#include "tests/support/synthetic_run.h"
#include "tests/unit/analyzer/random_run.h"

namespace stepscope::analyzer {
namespace {

using namespace model;

/// A collective in [100, 200) on stream 20 of device 0, and a thread that launches other ops.
class BlockingRun {
 public:
  BlockingRun() {
    thread_ = builder_.add_track({TrackKind::kThread, "main", 1, -1, StreamKind::kCompute, 0});
    compute_ = builder_.add_track({TrackKind::kStream, "compute", 7, 0, StreamKind::kCompute, 0});
    comm_ = builder_.add_track({TrackKind::kStream, "comm", 20, 0, StreamKind::kCommunication, 0});
    builder_.events(thread_).add(EventKind::kLaunch, 10, 5, builder_.intern("launch"), 10);
    builder_.events(comm_).add(EventKind::kCollective, 100, 100, builder_.intern("c"), 10,
                               CollectiveDetail{});
  }
  /// A kernel on the compute stream, launched by the call [launched − 5, launched).
  BlockingRun& kernel(int64_t launched, int64_t begin, int64_t end, uint64_t correlation,
                      uint32_t graph = 0) {
    builder_.events(thread_).add(EventKind::kLaunch, launched - 5, 5, builder_.intern("launch"),
                                 correlation);
    builder_.events(compute_).add(EventKind::kKernel, begin, end - begin, builder_.intern("k"),
                                  correlation, KernelDetail{.graph = graph});
    return *this;
  }
  BlockingRun& stream_wait(int64_t begin, int64_t end) {
    builder_.events(compute_).add(EventKind::kStreamWait, begin, end - begin,
                                  builder_.intern("wait"), 0, StreamWaitDetail{0, 20});
    return *this;
  }
  /// The call at `begin` makes the compute stream wait for the event that the call `source`
  /// recorded on the other stream.
  BlockingRun& waits_for(int64_t begin, uint64_t call, uint64_t source) {
    builder_.events(compute_).add(EventKind::kStreamWait, begin, 2, builder_.intern("wait"), call,
                                  StreamWaitDetail{0, 20, source});
    return *this;
  }
  TimeSplit time() {
    model::Run run;
    run.ranks.push_back({std::move(builder_).finish(), 3, ""});
    return analyze(run).devices.at(0).time;
  }

 private:
  TraceBuilder builder_;
  TrackId thread_, compute_, comm_;
};

TEST(BlockingComm, IsAllOfItWhereTheNextOpWaitsUntilItEnds) {
  EXPECT_EQ(BlockingRun()
                .kernel(20, 30, 90, 1)
                .stream_wait(90, 200)
                .kernel(40, 205, 250, 11)
                .time()
                .blocking_comm_ns,
            100);
}

TEST(BlockingComm, IsNotWhatAnOpThatCouldRunIsThereFor) {
  // Launched at 150, it waits for nothing, yet starts only at 205.
  TimeSplit const time = BlockingRun().stream_wait(90, 95).kernel(150, 205, 250, 11).time();
  EXPECT_EQ(time.exposed_comm_ns, 100);
  EXPECT_EQ(time.blocking_comm_ns, 50);

  // Its stream waits until 180.
  EXPECT_EQ(BlockingRun().stream_wait(90, 180).kernel(150, 205, 250, 11).time().blocking_comm_ns,
            80);

  // The kernel before it on its stream runs until 170, which also hides the communication until
  // then; launched at 180.
  EXPECT_EQ(BlockingRun()
                .stream_wait(20, 21)
                .kernel(30, 60, 170, 1)
                .kernel(40, 190, 250, 11)
                .time()
                .blocking_comm_ns,
            0);
  EXPECT_EQ(BlockingRun()
                .stream_wait(20, 21)
                .kernel(30, 60, 170, 1)
                .kernel(180, 190, 250, 11)
                .time()
                .blocking_comm_ns,
            10);
}

TEST(BlockingComm, WaitsThatNameTheirCallsBlockWhatIsLaunchedBehindThem) {
  // The call of the wait ends at 42. The collective ends at 200; call 10 launched it before call 15
  // recorded the event.
  EXPECT_EQ(BlockingRun()
                .kernel(30, 40, 60, 12)
                .waits_for(40, 16, 15)
                .kernel(50, 205, 250, 17)
                .time()
                .blocking_comm_ns,
            100);

  // The event was recorded before the collective was launched.
  EXPECT_EQ(BlockingRun()
                .kernel(30, 40, 60, 12)
                .waits_for(40, 16, 9)
                .kernel(50, 205, 250, 17)
                .time()
                .blocking_comm_ns,
            0);

  // The op was launched before the wait was queued in the stream.
  EXPECT_EQ(BlockingRun()
                .kernel(30, 40, 60, 12)
                .waits_for(40, 16, 15)
                .kernel(50, 205, 250, 14)
                .time()
                .blocking_comm_ns,
            0);
}

TEST(BlockingComm, IsUnknownForOpsWithoutALaunchOfTheirOwn) {
  EXPECT_EQ(BlockingRun().stream_wait(20, 21).kernel(50, 205, 250, 17, 3).time().blocking_comm_ns,
            100)
      << "a node of a graph";
}

TEST(BlockingComm, IsUnknownWhereNoStreamWaitIsRecorded) {
  TimeSplit const time = BlockingRun().kernel(50, 205, 250, 11).time();
  EXPECT_EQ(time.exposed_comm_ns, 100);
  EXPECT_FALSE(time.blocking_comm_ns);
  EXPECT_EQ(BlockingRun().time().blocking_comm_ns, 100) << "a single stream tells it";
}

TEST(BlockingComm, IsZeroWithoutCommunication) {
  support::SyntheticOptions options;
  options.devices = 1;
  EXPECT_EQ(analyze(support::make_synthetic_run(options)).devices[0].time.blocking_comm_ns, 0);
}

TEST(BlockingComm, OfADataParallelRunIsWhatTheOptimizerWaitsFor) {
  support::SyntheticOptions options;
  options.overlap = false;
  Analysis const analysis = analyze(support::make_synthetic_run(options));

  for (StepStats const& step : analysis.steps) {
    ASSERT_TRUE(step.time.blocking_comm_ns);
    EXPECT_GT(*step.time.blocking_comm_ns, 0);
    EXPECT_LE(*step.time.blocking_comm_ns, step.time.exposed_comm_ns);
    EXPECT_GT(static_cast<double>(*step.time.blocking_comm_ns),
              0.9 * static_cast<double>(step.time.exposed_comm_ns));
  }
}

int64_t sum(IdleSplit const& split) {
  return std::accumulate(split.begin(), split.end(), int64_t{0});
}

TEST(Unhidden, IsWhatComputeCouldHaveHiddenBeforeItsLaunchWasOver) {
  // The kernel before it ends at 120, its own launch at 150.
  TimeSplit const time =
      BlockingRun().stream_wait(20, 21).kernel(30, 60, 120, 1).kernel(150, 205, 250, 11).time();
  EXPECT_EQ(time.exposed_comm_ns, 80);
  EXPECT_EQ(time.unhidden_comm_ns, 30);
  EXPECT_EQ(time.unhidden_by_cause[static_cast<size_t>(IdleCause::kLaunchBound)], 30);
  EXPECT_EQ(sum(time.unhidden_by_cause), 30);
}

TEST(Unhidden, IsNotWhatItsStreamWaitedFor) {
  TimeSplit const waiting =
      BlockingRun().kernel(30, 60, 90, 1).stream_wait(100, 200).kernel(150, 205, 250, 11).time();
  EXPECT_EQ(waiting.unhidden_comm_ns, 0);
  EXPECT_EQ(sum(waiting.unhidden_by_cause), 0);

  // Its stream waits until 140, it is launched at 150.
  EXPECT_EQ(BlockingRun()
                .kernel(30, 60, 90, 1)
                .stream_wait(100, 140)
                .kernel(150, 205, 250, 11)
                .time()
                .unhidden_comm_ns,
            10);

  EXPECT_EQ(BlockingRun().kernel(30, 60, 90, 1).kernel(150, 205, 250, 11).time().unhidden_comm_ns,
            0)
      << "not known";
}

TEST(Unhidden, IsUnknownForNodesOfAGraph) {
  EXPECT_EQ(BlockingRun()
                .stream_wait(20, 21)
                .kernel(30, 60, 120, 1)
                .kernel(150, 205, 250, 11, 3)
                .time()
                .unhidden_comm_ns,
            0);
}

/// Looks at every row of a trace for every ns.
struct NaiveReadiness {
  Trace const& trace;

  OpClass class_of(uint32_t row) const { return kind_info(trace.kind(row)).op_class; }
  /// The first row of the row's stream.
  uint32_t first_of_track(uint32_t row) const {
    return trace.rows_of(trace.columns().track[row]).first;
  }

  bool runs(OpClass wanted, int64_t ns) const {
    for (uint32_t row = 0; row < trace.event_count(); ++row)
      if (class_of(row) == wanted && trace.start(row) <= ns && ns < trace.end(row)) return true;
    return false;
  }

  /// Whether the op is launched, has not started, and nothing before it on its stream is under way.
  bool is_ready(uint32_t row, int64_t ns) const {
    bool const can_hide = class_of(row) == OpClass::kCompute || class_of(row) == OpClass::kCopy;
    if (!can_hide || ns >= trace.start(row)) return false;

    auto const launch = trace.columns().link[row];
    if (!launch.valid() || trace.end(launch.value) > ns) return false;
    for (uint32_t before = first_of_track(row); before < row; ++before)
      if (trace.end(before) > ns) return false;  // an op or a stream wait
    return true;
  }

  /// Whether a kernel lacks nothing but the end of its launch.
  bool lacks_launch(uint32_t row, int64_t ns) const {
    if (class_of(row) != OpClass::kCompute || ns >= trace.start(row)) return false;
    auto const launch = trace.columns().link[row];
    if (!launch.valid() || trace.end(launch.value) <= ns) return false;

    bool has_before = false;
    for (uint32_t before = first_of_track(row); before < row; ++before) {
      if (trace.end(before) > ns) return false;
      has_before = true;
    }
    return has_before;
  }

  bool any_is_ready(int64_t ns) const {
    for (uint32_t row = 0; row < trace.event_count(); ++row)
      if (is_ready(row, ns)) return true;
    return false;
  }
  bool any_lacks_launch(int64_t ns) const {
    for (uint32_t row = 0; row < trace.event_count(); ++row)
      if (lacks_launch(row, ns)) return true;
    return false;
  }
};

TEST(NaiveTwin, BlockingCommunicationAgreesNsByNs) {
  uint32_t const blocking_runs = support::kSanitized ? 400 : 3000;
  for (uint32_t seed = 0; seed < blocking_runs; ++seed) {
    model::Run const run = testing_support::RandomRun(seed, seed % 3 == 0).make();
    Analysis const analysis = analyze(run);
    Trace const& trace = run.ranks[0].trace;
    std::optional<int64_t> const found = analysis.devices.at(0).time.blocking_comm_ns;

    bool has_waits = false;
    std::set<uint32_t> working;
    int64_t last = 0;
    for (uint32_t row = 0; row < trace.event_count(); ++row) {
      has_waits = has_waits || trace.kind(row) == EventKind::kStreamWait;
      if (is_device_op(trace.kind(row))) working.insert(trace.columns().track[row].value);
      last = std::max(last, trace.end(row));
    }

    NaiveReadiness const naive{trace};
    int64_t expected = 0, unhidden = 0, unhidden_comm = 0;
    for (int64_t ns = -200; ns < last; ++ns) {
      bool const is_comm = naive.runs(OpClass::kComm, ns);
      if ((!is_comm && !naive.runs(OpClass::kCopy, ns)) || naive.runs(OpClass::kCompute, ns))
        continue;
      bool const is_unhidden = naive.any_lacks_launch(ns);
      unhidden += is_unhidden ? 1 : 0;
      unhidden_comm += is_unhidden && is_comm ? 1 : 0;
      expected += is_comm && !naive.any_is_ready(ns) ? 1 : 0;
    }

    bool const is_known =
        has_waits || working.size() <= 1 || analysis.devices[0].time.exposed_comm_ns == 0;
    ASSERT_EQ(found, is_known ? std::optional(expected) : std::nullopt) << "seed " << seed;
    bool const knows_waits = has_waits || working.size() <= 1;
    ASSERT_EQ(sum(analysis.devices[0].time.unhidden_by_cause), knows_waits ? unhidden : 0)
        << "seed " << seed;
    ASSERT_EQ(analysis.devices[0].time.unhidden_comm_ns, knows_waits ? unhidden_comm : 0)
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace stepscope::analyzer
