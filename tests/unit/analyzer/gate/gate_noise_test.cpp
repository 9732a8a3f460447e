// As many more values as the gate advises settle an unclear verdict, and the gate detects the
// change that it calls detectable.
#include <gtest/gtest.h>

#include "analyzer/gate/noise.h"
#include "tests/unit/analyzer/gate/gate_samples.h"

namespace stepscope::analyzer {
namespace {

using gate_testing::noisy;
using Steps = std::vector<double>;

constexpr double kNoiseStep = 10e6, kNoiseLeast = 0.02 * kNoiseStep;

struct Judged {
  Change change;
  Verdict verdict;
};
Judged judged_pair(std::vector<Steps> const& base, std::vector<Steps> const& candidate) {
  RankSums sums;
  Change const change = measure_change(base, candidate, sums);
  return {change, judge(change, change.p, kNoiseLeast)};
}

void extend(Steps& steps, double mean, double deviation, size_t more, std::mt19937_64& random) {
  Steps const values = noisy(mean, deviation, more, random);
  steps.insert(steps.end(), values.begin(), values.end());
}

/// Unclear pairs for which the gate advises a number of steps, and how many of them are settled
/// with all of these steps or with a fifth.
struct Settled {
  int pairs = 0, with_all = 0, with_few = 0;
};

Settled settle_pairs(double true_change, double deviation) {
  std::mt19937_64 random(11);
  Settled settled;
  for (int i = 0; i < 4000 && settled.pairs < 150; ++i) {
    Steps base = noisy(kNoiseStep, deviation, 12, random);
    Steps candidate = noisy(kNoiseStep + true_change, deviation, 12, random);

    Judged const first = judged_pair({base}, {candidate});
    // An estimate far from the truth makes the advice wrong, so only typical pairs count.
    bool const is_typical = std::abs(first.change.shift.estimate - true_change) < 0.2 * deviation;
    if (first.verdict != Verdict::kUnclear || first.change.unit != CompareUnit::kStep ||
        !is_typical)
      continue;

    auto const more = values_to_settle(first.change, kNoiseLeast);
    if (!more || more->count < 5 || more->count > 1000) continue;
    ++settled.pairs;
    auto const verdict_with = [&](size_t count) {
      Steps longer_base = base, longer = candidate;
      if (more->on_both_sides) extend(longer_base, kNoiseStep, deviation, count, random);
      extend(longer, kNoiseStep + true_change, deviation, count, random);
      return judged_pair({longer_base}, {longer}).verdict;
    };

    settled.with_all += verdict_with(more->count) != Verdict::kUnclear ? 1 : 0;
    settled.with_few += verdict_with(more->count / 5) != Verdict::kUnclear ? 1 : 0;
  }
  return settled;
}

TEST(GateNoise, SoManyMoreStepsSettleAnUnchangedPair) {
  Settled const settled = settle_pairs(0, 0.035 * kNoiseStep);
  ASSERT_GE(settled.pairs, 100);
  EXPECT_GE(settled.with_all, settled.pairs * 6 / 10);
  EXPECT_LE(settled.with_few, settled.pairs * 5 / 10);
}

TEST(GateNoise, SoManyMoreStepsSettleASlowdown) {
  Settled const settled = settle_pairs(0.05 * kNoiseStep, 0.04 * kNoiseStep);
  ASSERT_GE(settled.pairs, 100);
  EXPECT_GE(settled.with_all, settled.pairs * 6 / 10);
  EXPECT_LE(settled.with_few, settled.pairs * 5 / 10);
}

TEST(GateNoise, ADetectableChangeIsDetected) {
  std::mt19937_64 random(3);
  int seen = 0, pairs = 0;
  for (int i = 0; i < 400; ++i) {
    double const deviation = 0.02 * kNoiseStep;

    Steps const base = noisy(kNoiseStep, deviation, 20, random);
    auto const noise = noise_of(
        judged_pair({base}, {noisy(kNoiseStep, deviation, 20, random)}).change, kNoiseLeast);
    ASSERT_TRUE(noise.has_value());
    EXPECT_NEAR(noise->deviation, deviation, 0.8 * deviation);

    Judged const slower =
        judged_pair({base}, {noisy(kNoiseStep + noise->detectable_change, deviation, 20, random)});
    if (slower.change.unit != CompareUnit::kStep) continue;
    ++pairs;
    seen += slower.verdict == Verdict::kMore ? 1 : 0;
  }

  EXPECT_GE(seen, pairs * 80 / 100);
  EXPECT_LE(seen, pairs * 97 / 100);
}

TEST(GateNoise, RunsAreCountedWhereRunsAreCompared) {
  std::mt19937_64 random(2);
  std::vector<Steps> base, candidate;
  for (double const mean : {10.0e6, 10.3e6, 9.8e6}) base.push_back(noisy(mean, 1e4, 20, random));
  for (double const mean : {10.5e6, 10.9e6, 10.3e6})
    candidate.push_back(noisy(mean, 1e4, 20, random));

  Judged const few = judged_pair(base, candidate);
  ASSERT_EQ(few.verdict, Verdict::kUnclear);
  auto const more = values_to_settle(few.change, kNoiseLeast);
  ASSERT_TRUE(more.has_value());
  EXPECT_EQ(more->unit, CompareUnit::kRun);
  EXPECT_LT(more->count, 40U);
}

TEST(GateNoise, TheAdviceIsNeverHundredsOfRuns) {
  Change change;
  change.method = CompareMethod::kStudent;
  change.unit = CompareUnit::kRun;
  change.base_values = change.candidate_values = 4;
  change.base_mean = kNoiseStep;
  change.shift = {0, -0.3 * kNoiseStep, 0.3 * kNoiseStep};
  EXPECT_FALSE(values_to_settle(change, kNoiseLeast).has_value());

  change.unit = CompareUnit::kStep;
  ASSERT_TRUE(values_to_settle(change, kNoiseLeast).has_value());
  EXPECT_GT(values_to_settle(change, kNoiseLeast)->count, kMostMoreRuns);

  change.unit = CompareUnit::kRun;
  change.shift = {0, -0.03 * kNoiseStep, 0.03 * kNoiseStep};
  ASSERT_TRUE(values_to_settle(change, kNoiseLeast).has_value());
  EXPECT_LE(values_to_settle(change, kNoiseLeast)->count, kMostMoreRuns);
}

TEST(GateNoise, NothingSettlesAChangeAsLargeAsTheLeast) {
  Change change;
  change.method = CompareMethod::kMannWhitney;
  change.base_values = change.candidate_values = 20;
  change.base_mean = kNoiseStep;
  change.shift = {kNoiseLeast, kNoiseLeast - 1e5, kNoiseLeast + 1e5};
  EXPECT_FALSE(values_to_settle(change, kNoiseLeast).has_value());
  change.drifts = true;
  EXPECT_FALSE(noise_of(change, kNoiseLeast).has_value());
}

TEST(GateNoise, SoManyMoreStepsSettleABudget) {
  std::mt19937_64 random(4);
  int settled = 0, pairs = 0;
  for (int i = 0; i < 2000 && pairs < 150; ++i) {
    std::vector<Steps> run = {noisy(1e6, 3e4, 15, random)};

    double const limit = 1.01e6;
    MeanInterval const mean = measure_mean(run);
    bool const is_unclear = mean.low <= limit && mean.high > limit;
    if (!is_unclear || std::abs(mean.mean - 1e6) > 3e3 || mean.independent < 15) continue;

    auto const more = values_to_settle(mean, limit);
    if (!more) continue;
    ++pairs;
    extend(run[0], 1e6, 3e4, more->count, random);
    MeanInterval const longer = measure_mean(run);
    settled += longer.high <= limit || longer.low > limit ? 1 : 0;
  }

  ASSERT_GE(pairs, 100);
  EXPECT_GE(settled, pairs * 6 / 10);
}

TEST(GateNoise, NothingSettlesABudgetAtTheValueItself) {
  std::mt19937_64 random(4);
  std::vector<Steps> const run = {noisy(1e6, 3e4, 50, random)};
  MeanInterval const mean = measure_mean(run);
  double const half = (mean.high - mean.low) / 2;
  EXPECT_FALSE(values_to_settle(mean, mean.mean + half / 20).has_value());

  auto const near = values_to_settle(mean, mean.mean + half / 2);
  ASSERT_TRUE(near);
  EXPECT_LE(near->count, kMostMoreSteps);
}

}  // namespace
}  // namespace stepscope::analyzer
