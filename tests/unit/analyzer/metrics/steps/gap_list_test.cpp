// The gaps of measured periods against a plain list of their parts, for random gaps and periods.
#include <random>

#include <gtest/gtest.h>

#include "analyzer/metrics/steps/measured_steps.h"

namespace stepscope::analyzer {
namespace {

constexpr DeviceRef kOnly{0, 0};

std::vector<IdleGap> random_gaps(std::mt19937& random, size_t count) {
  std::vector<IdleGap> gaps;
  int64_t at = 1'000;
  for (size_t i = 0; i < count; ++i) {
    IdleGap gap;
    gap.ref = kOnly;
    at += static_cast<int64_t>(random() % 50);  // 0: gaps that touch
    gap.when.begin = at;
    at += 1 + static_cast<int64_t>(random() % 200);
    gap.when.end = at;

    gap.cause = static_cast<IdleCause>(random() % kIdleCauseCount);
    gap.is_staging = random() % 2 == 0;
    gaps.push_back(gap);
  }
  return gaps;
}

/// Windows of steps that may overlap gaps in any way; too few to have outliers.
std::vector<StepStats> random_steps(std::mt19937& random, int64_t end) {
  std::vector<StepStats> steps;
  int64_t at = 900;
  for (int64_t number = 0; at < end && number < 7; ++number) {
    StepStats step;
    step.ref = kOnly;
    step.step = number;

    at += static_cast<int64_t>(random() % 300);
    step.window.begin = at;
    at += static_cast<int64_t>(random() % 900);
    step.window.end = at;
    step.warmup = random() % 5 == 0;
    steps.push_back(step);
  }
  return steps;
}

/// The parts of all gaps that lie in the periods, one after the other.
std::vector<IdleGap> naive_parts(std::vector<IdleGap> const& gaps,
                                 std::vector<Interval> const& periods) {
  std::vector<IdleGap> parts;
  for (Interval const& period : periods) {
    for (IdleGap gap : gaps) {
      gap.when = {std::max(gap.when.begin, period.begin), std::min(gap.when.end, period.end)};
      if (gap.when.begin < gap.when.end) parts.push_back(gap);
    }
  }
  return parts;
}

TEST(GapList, HoldsThePartsOfGapsThatLieInPeriods) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<IdleGap> const gaps = random_gaps(random, 1 + random() % 40);
    Analysis facts;
    facts.devices.emplace_back().ref = kOnly;
    facts.gaps = IdleGaps(gaps);
    facts.steps = random_steps(random, gaps.back().when.end + 200);

    MeasuredSteps const measured = measure_steps(facts);
    MeasuredDevice const& device = measured.all.at(0);
    std::vector<IdleGap> const expected = naive_parts(gaps, device.periods);

    ASSERT_EQ(device.gaps.size(), expected.size()) << "round " << round;
    IdleSplit idle{};
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(device.gaps[i].when, expected[i].when) << "round " << round << ", gap " << i;
      EXPECT_EQ(device.gaps.when(i), expected[i].when);
      EXPECT_EQ(device.gaps.cause(i), expected[i].cause);
      EXPECT_EQ(device.gaps.is_staging(i), expected[i].is_staging);
      idle[static_cast<size_t>(expected[i].cause)] += expected[i].when.length();
    }
    EXPECT_EQ(device.idle, idle) << "round " << round;
    EXPECT_EQ(measured.steady.at(0).idle, idle) << "without outliers all are steady";
  }
}

}  // namespace
}  // namespace stepscope::analyzer
