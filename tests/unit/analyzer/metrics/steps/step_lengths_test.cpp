// Lengths of steps: their distribution, examples to look at, and means of neighbours.
#include "analyzer/metrics/steps/step_lengths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepscope::analyzer {
namespace {

StepStats step_of(int32_t device, int64_t number, Interval window, bool warmup = false) {
  StepStats step;
  step.ref = {0, device};
  step.step = number;
  step.window = step.host_window = window;
  step.time.window_ns = step.time.compute_ns = window.length();
  step.warmup = warmup;
  return step;
}

TEST(StepLengths, LeaveOutWarmUp) {
  Analysis analysis;
  analysis.steps = {step_of(0, 0, {0, 1000}, true), step_of(0, 1, {1000, 1030}),
                    step_of(0, 2, {1030, 1040}), step_of(1, 1, {1000, 1020})};

  auto const lengths = step_lengths(analysis);
  ASSERT_TRUE(lengths);
  EXPECT_EQ(lengths->count, 3U);
  EXPECT_EQ(lengths->sum_ns, 60.0);
  EXPECT_EQ(lengths->median_ns, 20);
  EXPECT_EQ(lengths->p95_ns, 30);
}

TEST(StepLengths, AreThoseOfHostsIfDevicesHaveNoSteps) {
  HostStepStats step;
  step.period = {5, 12};
  Analysis analysis;
  analysis.hosts.emplace_back().steps = {step};

  auto const lengths = step_lengths(analysis);
  ASSERT_TRUE(lengths);
  EXPECT_EQ(lengths->count, 1U);
  EXPECT_EQ(lengths->median_ns, 7);
}

TEST(StepLengths, OfARunWithoutStepsAreUnknown) {
  EXPECT_FALSE(step_lengths({}));
  EXPECT_FALSE(example_steps({}));
}

TEST(ExampleSteps, AreTheMedianAndTheLongestOverAllDevices) {
  Analysis analysis;
  analysis.steps = {step_of(0, 1, {0, 10}), step_of(0, 2, {10, 30}), step_of(1, 2, {12, 32}),
                    step_of(1, 3, {40, 90})};

  auto const examples = example_steps(analysis);
  ASSERT_TRUE(examples);
  EXPECT_EQ(examples->typical.step, 2);
  EXPECT_EQ(examples->typical.when.begin, 10);
  EXPECT_EQ(examples->typical.when.end, 32);
  EXPECT_EQ(examples->slowest.step, 3);
}

TEST(StepGroups, HaveMeansOfNeighboursOnOneDevice) {
  Analysis analysis;
  for (int64_t number = 0; number < 5; ++number)
    analysis.steps.push_back(step_of(0, number, {number * 100, number * 100 + 10 * number}));
  analysis.steps.push_back(step_of(1, 7, {0, 50}));

  auto const groups = step_groups(step_periods(analysis), {0, 0}, 2);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].first, 0);
  EXPECT_EQ(groups[0].last, 2);
  EXPECT_EQ(groups[0].parts_ns[0], 10);  // of 0, 10 and 20
  EXPECT_EQ(groups[1].first, 3);
  EXPECT_EQ(groups[1].last, 4);
  EXPECT_EQ(groups[1].parts_ns[0], 35);  // of 30 and 40
}

}  // namespace
}  // namespace stepscope::analyzer
