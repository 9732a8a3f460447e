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

/// A collective of [100, 200) on stream 20 of device 0 and a thread that launches more.
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
  BlockingRun& held(int64_t begin, int64_t end) {
    builder_.events(compute_).add(EventKind::kStreamWait, begin, end - begin,
                                  builder_.intern("wait"), 0, StreamWaitDetail{0, 20});
    return *this;
  }
  /// The call at `begin` lets the compute stream wait for what the call `source` marked on the
  /// other one.
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

TEST(BlockingComm, IsAllOfItWhereTheNextOpIsHeldUntilItEnds) {
  EXPECT_EQ(BlockingRun()
                .kernel(20, 30, 90, 1)
                .held(90, 200)
                .kernel(40, 205, 250, 11)
                .time()
                .blocking_comm_ns,
            100);
}

TEST(BlockingComm, IsNotWhatAnOpThatCouldRunIsThereFor) {
  // Launched at 150, nothing holds it, and it starts at 205 only.
  TimeSplit const time = BlockingRun().held(90, 95).kernel(150, 205, 250, 11).time();
  EXPECT_EQ(time.exposed_comm_ns, 100);
  EXPECT_EQ(time.blocking_comm_ns, 50);
  // Held until 180.
  EXPECT_EQ(BlockingRun().held(90, 180).kernel(150, 205, 250, 11).time().blocking_comm_ns, 80);
  // The kernel before it on its stream runs until 170, which also hides the communication until
  // then; launched at 180.
  EXPECT_EQ(BlockingRun()
                .held(20, 21)
                .kernel(30, 60, 170, 1)
                .kernel(40, 190, 250, 11)
                .time()
                .blocking_comm_ns,
            0);
  EXPECT_EQ(BlockingRun()
                .held(20, 21)
                .kernel(30, 60, 170, 1)
                .kernel(180, 190, 250, 11)
                .time()
                .blocking_comm_ns,
            10);
}

TEST(BlockingComm, WaitsThatNameTheirCallsHoldWhatIsLaunchedBehindThem) {
  // The wait's call is over at 42; the collective, launched by call 10 before the event was
  // recorded by call 15, at 200.
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
  // The op was launched before the stream was told to wait.
  EXPECT_EQ(BlockingRun()
                .kernel(30, 40, 60, 12)
                .waits_for(40, 16, 15)
                .kernel(50, 205, 250, 14)
                .time()
                .blocking_comm_ns,
            0);
}

TEST(BlockingComm, OfOpsWithoutALaunchOfTheirOwnNothingIsKnown) {
  EXPECT_EQ(BlockingRun().held(20, 21).kernel(50, 205, 250, 17, 3).time().blocking_comm_ns, 100)
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
  // The kernel before it is over at 120, its own launch at 150.
  TimeSplit const time =
      BlockingRun().held(20, 21).kernel(30, 60, 120, 1).kernel(150, 205, 250, 11).time();
  EXPECT_EQ(time.exposed_comm_ns, 80);
  EXPECT_EQ(time.unhidden_comm_ns, 30);
  EXPECT_EQ(time.unhidden_by_cause[static_cast<size_t>(IdleCause::kLaunchStarved)], 30);
  EXPECT_EQ(sum(time.unhidden_by_cause), 30);
}

TEST(Unhidden, IsNotWhatItsStreamWaitedFor) {
  TimeSplit const held =
      BlockingRun().kernel(30, 60, 90, 1).held(100, 200).kernel(150, 205, 250, 11).time();
  EXPECT_EQ(held.unhidden_comm_ns, 0);
  EXPECT_EQ(sum(held.unhidden_by_cause), 0);
  // Held until 140, launched at 150.
  EXPECT_EQ(BlockingRun()
                .kernel(30, 60, 90, 1)
                .held(100, 140)
                .kernel(150, 205, 250, 11)
                .time()
                .unhidden_comm_ns,
            10);
  EXPECT_EQ(BlockingRun().kernel(30, 60, 90, 1).kernel(150, 205, 250, 11).time().unhidden_comm_ns,
            0)
      << "not known";
}

TEST(Unhidden, OfAGraphsNodesNothingIsKnown) {
  EXPECT_EQ(BlockingRun()
                .held(20, 21)
                .kernel(30, 60, 120, 1)
                .kernel(150, 205, 250, 11, 3)
                .time()
                .unhidden_comm_ns,
            0);
}

TEST(NaiveTwin, BlockingCommunicationAgreesNsByNs) {
  uint32_t const blocking_runs = support::kSanitized ? 400 : 3000;
  for (uint32_t seed = 0; seed < blocking_runs; ++seed) {
    model::Run const run = testing_support::RandomRun(seed, seed % 3 == 0).make();
    Analysis const analysis = analyze(run);
    Trace const& trace = run.ranks[0].trace;
    std::optional<int64_t> const found = analysis.devices.at(0).time.blocking_comm_ns;
    bool has_waits = false;
    std::set<uint32_t> working;
    int64_t expected = 0, unhidden = 0, unhidden_comm = 0, last = 0;
    for (uint32_t row = 0; row < trace.event_count(); ++row) {
      has_waits = has_waits || trace.kind(row) == EventKind::kStreamWait;
      if (is_device_op(trace.kind(row))) working.insert(trace.columns().track[row].value);
      last = std::max(last, trace.end(row));
    }
    auto const runs = [&](OpClass wanted, int64_t ns) {
      for (uint32_t row = 0; row < trace.event_count(); ++row)
        if (kind_info(trace.kind(row)).op_class == wanted && trace.start(row) <= ns &&
            ns < trace.end(row))
          return true;
      return false;
    };
    auto const is_ready = [&](uint32_t row, int64_t ns) {
      OpClass const op_class = kind_info(trace.kind(row)).op_class;
      if ((op_class != OpClass::kCompute && op_class != OpClass::kCopy) || ns >= trace.start(row))
        return false;
      auto const launch = trace.columns().link[row];
      if (!launch.valid() || trace.end(launch.value) > ns) return false;
      for (uint32_t before = trace.rows_of(trace.columns().track[row]).first; before < row;
           ++before)
        if (trace.end(before) > ns) return false;  // ops and holds before it on its stream
      return true;
    };
    auto const lacks_launch = [&](uint32_t row, int64_t ns) {
      if (kind_info(trace.kind(row)).op_class != OpClass::kCompute || ns >= trace.start(row))
        return false;
      auto const launch = trace.columns().link[row];
      if (!launch.valid() || trace.end(launch.value) <= ns) return false;
      bool has_before = false;
      for (uint32_t before = trace.rows_of(trace.columns().track[row]).first; before < row;
           ++before) {
        if (trace.end(before) > ns) return false;
        has_before = true;
      }
      return has_before;
    };
    for (int64_t ns = -200; ns < last; ++ns) {
      bool const is_comm = runs(OpClass::kComm, ns);
      if ((!is_comm && !runs(OpClass::kCopy, ns)) || runs(OpClass::kCompute, ns)) continue;
      bool any = false;
      for (uint32_t row = 0; row < trace.event_count() && !any; ++row) any = lacks_launch(row, ns);
      unhidden += any ? 1 : 0;
      unhidden_comm += any && is_comm ? 1 : 0;
      if (!is_comm) continue;
      any = false;
      for (uint32_t row = 0; row < trace.event_count() && !any; ++row) any = is_ready(row, ns);
      expected += any ? 0 : 1;
    }
    bool const is_known =
        has_waits || working.size() <= 1 || analysis.devices[0].time.exposed_comm_ns == 0;
    ASSERT_EQ(found, is_known ? std::optional(expected) : std::nullopt) << "seed " << seed;
    bool const tells_waits = has_waits || working.size() <= 1;
    ASSERT_EQ(sum(analysis.devices[0].time.unhidden_by_cause), tells_waits ? unhidden : 0)
        << "seed " << seed;
    ASSERT_EQ(analysis.devices[0].time.unhidden_comm_ns, tells_waits ? unhidden_comm : 0)
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace stepscope::analyzer
