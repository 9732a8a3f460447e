// Range statistics against the analysis, which computes the same numbers for windows of its own.
#include "viewer/queries/range_statistics.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "tests/support/host_program.h"
#include "tests/unit/viewer/scenes.h"

namespace stepscope::viewer {
namespace {

Scene const& ranges() {
  static Scene const kScene = synthetic_scene({.devices = 2,
                                               .steps = 8,
                                               .process_per_device = true,
                                               .input_delay_ns = 4'000'000,
                                               .sync_every_op = true});
  return kScene;
}

TimeWindow window_of(model::Interval when) {
  return {static_cast<double>(ranges().to_view(when.begin)),
          static_cast<double>(ranges().to_view(when.end))};
}

TEST(RangeStatistics, OfADevicesWindowAreTheAnalysis) {
  for (auto const& device : ranges().analysis.devices) {
    auto const facts = range_statistics(ranges(), window_of(device.window));
    uint32_t const node = *ranges().node_of_device(device.ref);

    for (auto const& split : facts.devices) {
      if (split.node != node) continue;
      EXPECT_EQ(split.time[static_cast<size_t>(Paint::kCompute)], device.time.compute_ns);
      EXPECT_EQ(split.time[static_cast<size_t>(Paint::kCommunication)],
                device.time.exposed_comm_ns);
      EXPECT_EQ(split.time[static_cast<size_t>(Paint::kCopy)], device.time.exposed_copy_ns);
      EXPECT_EQ(split.idle, device.time.idle_ns);
      EXPECT_EQ(split.outside, 0);

      for (size_t cause = 0; cause < device.time.idle_by_cause.size(); ++cause)
        EXPECT_EQ(
            split.time[static_cast<size_t>(paint_of(static_cast<analyzer::IdleCause>(cause)))],
            device.time.idle_by_cause[cause]);
    }
  }
}

TEST(RangeStatistics, OfAnyRangeSumToItsLength) {
  for (double begin = -10e6; begin < 200e6; begin += 7'654'321) {
    TimeWindow const range{begin, begin + 33'333'333};
    auto const facts = range_statistics(ranges(), range);
    double const inside =
        std::min(range.end, static_cast<double>(ranges().length)) - std::max(range.begin, 0.0);

    for (auto const& split : facts.devices) {
      int64_t const sum =
          std::accumulate(split.time.begin(), split.time.end(), int64_t{0}) + split.outside;
      EXPECT_NEAR(static_cast<double>(sum), std::max(inside, 0.0), 1);
    }
  }
}

TEST(RangeStatistics, OfTheWholeRunCountEveryDeviceOp) {
  auto const facts = range_statistics(ranges(), {0, static_cast<double>(ranges().length)});
  uint64_t expected = 0;
  for (auto const& kernel : ranges().analysis.kernels) expected += kernel.count;
  EXPECT_EQ(facts.op_count, expected);
  std::map<std::string, int64_t> totals;
  for (auto const& kernel : ranges().analysis.kernels) totals[kernel.name] += kernel.total_ns;
  for (auto const& op : facts.ops) EXPECT_EQ(op.total, totals[op.name]) << op.name;
}

TEST(RangeStatistics, AreOrderedByTotal) {
  auto const facts = range_statistics(ranges(), {0, static_cast<double>(ranges().length)});
  for (size_t i = 1; i < facts.ops.size(); ++i)
    EXPECT_GE(facts.ops[i - 1].total, facts.ops[i].total);
}

TEST(RangeStatistics, OfARangeOutsideTheRunAreZero) {
  auto const facts = range_statistics(ranges(), {1e15, 2e15});
  EXPECT_EQ(facts.op_count, 0U);
  for (auto const& split : facts.devices) EXPECT_EQ(split.idle + split.outside, 0);
}

TEST(RangeStatistics, WithoutADeviceAreTheOwnTimesOfRangesAndTheBusyThreads) {
  Scene const scene = analyzed(support::loop_with_waits());
  // From the first step's 60th µs to the end of the second.
  RangeStatistics const facts = range_statistics(scene, {60'000, 210'000});

  EXPECT_TRUE(facts.devices.empty());
  ASSERT_EQ(facts.threads.size(), 1U);
  EXPECT_EQ(facts.threads[0].busy, 140'000);

  ASSERT_EQ(facts.ops.size(), 3U);
  EXPECT_EQ(facts.ops[0].name, "forward");
  EXPECT_EQ(facts.ops[0].total, 20'000 + 30'000) << "without tokenize";
  EXPECT_EQ(facts.ops[1].name, "tokenize");
  EXPECT_EQ(facts.ops[1].total, 10'000 + 20'000);
  EXPECT_EQ(facts.ops[2].name, "wait for batch");
  EXPECT_EQ(facts.ops[2].total, 30'000);
  EXPECT_EQ(facts.ops[2].count, 1U);
}

TEST(RangeStatistics, WithoutADeviceOfTheWholeRunAreThoseOfTheAnalysis) {
  support::HostProgram program;
  program.range(0, 200, "outer");
  program.range(10, 100, "a");
  program.range(50, 150, "b");  // does not nest
  program.range(120, 130, "a");
  program.range_on(program.thread("other"), 5, 50, "a");
  Scene const scene = analyzed(std::move(program).run());

  RangeStatistics const facts = range_statistics(scene, {0, 200});
  analyzer::HostStats const& host = scene.analysis.hosts.at(0);
  ASSERT_EQ(facts.ops.size(), host.ranges.size());
  for (size_t i = 0; i < facts.ops.size(); ++i) {
    EXPECT_EQ(facts.ops[i].name, host.ranges[i].name);
    EXPECT_EQ(facts.ops[i].total, host.ranges[i].exclusive_ns) << host.ranges[i].name;
    EXPECT_EQ(facts.ops[i].count, host.ranges[i].count);
  }

  ASSERT_EQ(facts.threads.size(), host.threads.size());
  for (size_t i = 0; i < facts.threads.size(); ++i)
    EXPECT_EQ(facts.threads[i].busy, host.threads[i].busy_ns);
}

}  // namespace
}  // namespace stepscope::viewer
