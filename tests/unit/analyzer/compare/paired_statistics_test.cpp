// Statistics of pairs compared with SciPy and R (compare_statistics_reference.py printed the
// numbers) and with twins that try every sign; verdicts of pairs of runs on a machine whose speed
// varies.
#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "analyzer/compare/judgement.h"
#include "analyzer/compare/paired_statistics.h"
#include "analyzer/gate/noise.h"
#include "tests/support/sanitized.h"

namespace stepscope::analyzer {
namespace {

using Differences = std::vector<double>;

Differences const kTwelve = {1.3, -0.4, 2.2, 0.9, 3.1, -1.7, 0.2, 2.9, 1.1, -0.6, 1.9, 0.8};
Differences const kSix = {0.5, 1.5, -0.25, 2.0, 0.75, 1.25};
Differences const kTied = {1, -1, 2, 2, 0, 3, -2, 4, 1, 0, 5};

/// The set "sixty".
Differences sixty_differences() {
  Differences differences;
  for (int i = 0; i < 60; ++i) differences.push_back(i * 7919 % 1009 / 10.0 - 45.03 + i * 0.01);
  return differences;
}

void expect_interval(Shift const& found, double estimate, double low, double high) {
  EXPECT_NEAR(found.estimate, estimate, 1e-9);
  EXPECT_NEAR(found.low, low, 1e-9);
  EXPECT_NEAR(found.high, high, 1e-9);
}

TEST(PairedStatistics, SignedRanksAreExactForFewDifferencesWithoutTies) {
  SignedRankTest const twelve = signed_rank(kTwelve, 0.95);
  EXPECT_TRUE(twelve.exact);
  EXPECT_EQ(twelve.v, 65);
  EXPECT_NEAR(twelve.p, 0.04248046875, 1e-14);
  expect_interval(twelve.shift, 1.025, 0.1, 2);
  SignedRankTest const six = signed_rank(kSix, 0.95);
  EXPECT_EQ(six.v, 20);
  EXPECT_NEAR(six.p, 0.0625, 1e-15);
  expect_interval(six.shift, 1, -0.25, 2);
}

TEST(PairedStatistics, TheNormalDistributionIsCorrectedForTiesZerosAndContinuity) {
  SignedRankTest const tied = signed_rank(kTied, 0.95);
  EXPECT_FALSE(tied.exact);
  EXPECT_EQ(tied.v, 38);
  EXPECT_NEAR(tied.p, 0.07351020172662155, 1e-14);
  expect_interval(tied.shift, 1.5, 0, 3);

  SignedRankTest const many = signed_rank(sixty_differences(), 0.95);
  EXPECT_FALSE(many.exact);
  EXPECT_EQ(many.v, 1086);
  EXPECT_NEAR(many.p, 0.20942311044040607, 1e-13);
  expect_interval(many.shift, 5.35, -3.775, 12.995);
}

TEST(PairedStatistics, QuantilesOfTheExactDistributionAreThoseOfR) {
  EXPECT_EQ(SignedRankDistribution(6).quantile(0.025), 1U);
  EXPECT_NEAR(SignedRankDistribution(6).cumulative(1), 0.03125, 1e-15);
  EXPECT_EQ(SignedRankDistribution(12).quantile(0.025), 14U);
  EXPECT_NEAR(SignedRankDistribution(12).cumulative(14), 0.026123046875, 1e-15);
  EXPECT_EQ(SignedRankDistribution(49).quantile(0.025), 416U);
  EXPECT_NEAR(SignedRankDistribution(49).cumulative(416), 0.025314292370671513, 1e-14);
}

TEST(PairedStatistics, EverySignWasCounted) {
  std::mt19937 random(4);
  std::uniform_real_distribution<double> uniform(-1, 2);
  for (size_t n = 1; n <= 11; ++n) {
    Differences differences;
    for (size_t i = 0; i < n; ++i) differences.push_back(uniform(random));
    Differences sizes = differences;
    std::sort(sizes.begin(), sizes.end(),
              [](double a, double b) { return std::abs(a) < std::abs(b); });

    double positive = 0;
    for (size_t i = 0; i < n; ++i) positive += sizes[i] > 0 ? static_cast<double>(i + 1) : 0;
    double const all = static_cast<double>(n * (n + 1)) / 2,
                 nearer = std::min(positive, all - positive);

    size_t as_far = 0;
    for (size_t signs = 0; signs < size_t{1} << n; ++signs) {
      double sum = 0;
      for (size_t i = 0; i < n; ++i) sum += (signs >> i & 1U) != 0 ? static_cast<double>(i + 1) : 0;
      as_far += sum <= nearer ? 1 : 0;
    }

    SignedRankTest const test = signed_rank(differences, 0.95);
    EXPECT_EQ(test.v, positive);
    EXPECT_NEAR(test.p, std::min(1.0, 2 * static_cast<double>(as_far) / std::pow(2, n)), 1e-14);
  }
}

TEST(PairedStatistics, StudentsTIsThatOfDifferences) {
  MeanTest const twelve = student_of_pairs(kTwelve, 0.95);
  expect_interval(twelve.shift, 0.975, 0.059007309608038773, 1.8909926903919609);
  EXPECT_NEAR(twelve.p, 0.038981349330004231, 1e-12);
  EXPECT_NEAR(student_of_pairs(kTied, 0.95).p, 0.057756081140279268, 1e-12);
  EXPECT_FALSE(std::isfinite(student_of_pairs(Differences{1}, 0.95).shift.high));
  EXPECT_EQ(student_of_pairs(Differences{2, 2, 2}, 0.95).p, 0);
  EXPECT_EQ(student_of_pairs(Differences{0, 0, 0}, 0.95).p, 1);
}

TEST(PairedStatistics, DifferencesOf0SayNothing) {
  SignedRankTest const none = signed_rank(Differences(20, 0), 0.95);
  EXPECT_EQ(none.p, 1);
  expect_interval(none.shift, 0, 0, 0);
  EXPECT_EQ(signed_rank(Differences{3}, 0.95).p, 1);
}

struct PairNoise {
  double machine = 0.12;  ///< share by which both runs of a pair vary together
  double apart = 0.01;    ///< share by which each varies besides
};
struct PairVerdicts {
  int less = 0, more = 0, same = 0, unclear = 0;
};

/// Judges `count` times `pairs` of runs of five steps of about 100, which the machine makes longer
/// and shorter.
PairVerdicts judge_made_pairs(int count, size_t pairs, double slowdown, PairNoise const& noise,
                              bool as_pairs = true) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  PairVerdicts found;

  for (int i = 0; i < count; ++i) {
    std::vector<std::vector<double>> base, candidate;
    for (size_t k = 0; k < pairs; ++k) {
      double const machine = std::exp(noise.machine * normal(random));
      base.emplace_back(5, 100 * machine * std::exp(noise.apart * normal(random)));
      candidate.emplace_back(
          5, 100 * (1 + slowdown) * machine * std::exp(noise.apart * normal(random)));
    }

    RankSums sums;
    Change const change =
        as_pairs ? measure_pairs(base, candidate) : measure_change(base, candidate, sums);

    switch (judge(change, change.p, 0.02 * change.base_mean)) {
      case Verdict::kLess:
        ++found.less;
        break;
      case Verdict::kMore:
        ++found.more;
        break;
      case Verdict::kSame:
        ++found.same;
        break;
      case Verdict::kUnclear:
        ++found.unclear;
        break;
    }
  }
  return found;
}

int const kMadePairs = support::kSanitized ? 40 : 1000;

TEST(PairedJudgement, FiveOf1000UnchangedProgramsAtMostAreTakenForChanged) {
  for (size_t const pairs : {2U, 3U, 4U, 9U, 10U, 25U})
    for (double const apart : {0.002, 0.015, 0.1}) {
      PairVerdicts const found = judge_made_pairs(kMadePairs, pairs, 0, {.apart = apart});
      EXPECT_LE(found.less + found.more, 5) << pairs << " pairs, noise " << apart;
    }
}

TEST(PairedJudgement, WhatTheMachineDoesToBothIsNoNoise) {
  EXPECT_GE(judge_made_pairs(kMadePairs, 16, 0, {}).same, kMadePairs * 95 / 100);
  EXPECT_GE(judge_made_pairs(kMadePairs, 16, 0.05, {}).more, kMadePairs * 95 / 100);
  PairVerdicts const alone = judge_made_pairs(kMadePairs, 16, 0, {}, false);
  EXPECT_LE(alone.same, kMadePairs / 20)
      << "runs that vary by 12 % are not the same within 2 % when each side stands alone";
}

TEST(PairedJudgement, ADetectableChangeIsDetected9TimesOf10) {
  for (size_t const pairs : {4U, 10U, 11U, 17U, 30U}) {
    PairNoise const noise{.machine = 0.05, .apart = 0.05};
    std::mt19937 random(13);
    std::normal_distribution<double> normal;
    double detectable_change = 0;
    constexpr int kAsked = 200;
    for (int i = 0; i < kAsked; ++i) {
      std::vector<std::vector<double>> base, candidate;
      for (size_t k = 0; k < pairs; ++k) {
        base.push_back({100 + 100 * noise.apart * normal(random)});
        candidate.push_back({100 + 100 * noise.apart * normal(random)});
      }
      detectable_change += noise_of(measure_pairs(base, candidate), 2)->detectable_change / kAsked;
    }

    int detected = 0;
    for (int i = 0; i < kAsked; ++i) {
      std::vector<std::vector<double>> base, candidate;
      for (size_t k = 0; k < pairs; ++k) {
        base.push_back({100 + 100 * noise.apart * normal(random)});
        candidate.push_back({100 + detectable_change + 100 * noise.apart * normal(random)});
      }
      Change const change = measure_pairs(base, candidate);
      detected += judge(change, change.p, 2) == Verdict::kMore ? 1 : 0;
    }
    EXPECT_GE(detected, kAsked * 75 / 100) << pairs << " pairs";
  }
}

TEST(PairedJudgement, OnePairOfNoDifferenceHidesNoChange) {
  for (size_t const pairs : {9U, 10U, 12U, 14U, 20U}) {
    std::vector<std::vector<double>> const base(pairs, {100});
    std::vector<std::vector<double>> candidate(pairs, {110});
    for (size_t i = 0; i < pairs; ++i) candidate[i][0] += static_cast<double>(i % 3) * 0.1;
    candidate[0] = {100};
    Change const change = measure_pairs(base, candidate);
    EXPECT_EQ(judge(change, change.p, 2), Verdict::kMore) << pairs << " pairs";
  }
}

TEST(PairedJudgement, APairWithoutValuesDoesNotCount) {
  std::vector<std::vector<double>> const base = {{10}, {}, {12}}, candidate = {{11}, {500}, {13}};
  Change const change = measure_pairs(base, candidate);
  EXPECT_EQ(change.unit, CompareUnit::kPair);
  EXPECT_EQ(change.method, CompareMethod::kPairedStudent);
  EXPECT_EQ(change.base_values, 2U);
  EXPECT_EQ(change.base_mean, 11);
  EXPECT_EQ(change.shift.estimate, 1);
}

TEST(PairedJudgement, RatiosOfAFewPairsShowWhatDifferencesOfThemDoNot) {
  std::vector<std::vector<double>> const base = {{100}, {140}, {90}};
  std::vector<std::vector<double>> candidate = {{36}, {47.6}, {28.8}};  // -64, -66, -68 %
  Change const change = measure_pairs(base, candidate);
  EXPECT_EQ(change.method, CompareMethod::kPairedStudent);
  EXPECT_EQ(judge(change, change.p, 0.02 * change.base_mean), Verdict::kLess);
  EXPECT_LT(change.shift.high, -0.5 * change.base_mean);
  EXPECT_GT(change.shift.low, -0.8 * change.base_mean);
  ASSERT_TRUE(change.agreement);
  EXPECT_EQ(change.agreement->less, 3U);
  EXPECT_NEAR(change.agreement->lowest, -0.68, 1e-9);
  EXPECT_NEAR(change.agreement->highest, -0.64, 1e-9);
  MeanTest const of_differences = student_of_pairs(Differences{-64, -92.4, -61.2}, 0.95);
  EXPECT_GT(of_differences.p, kMetricError);

  candidate[1] = {150};  // one pair of another direction
  Change const apart = measure_pairs(base, candidate);
  EXPECT_EQ(judge(apart, apart.p, 0.02 * apart.base_mean), Verdict::kUnclear);
}

TEST(PairedJudgement, WhatIs0InARunIsComparedByDifferences) {
  Change const change = measure_pairs(std::vector<std::vector<double>>{{0}, {2}, {4}},
                                      std::vector<std::vector<double>>{{1}, {2}, {6}});
  EXPECT_DOUBLE_EQ(change.shift.estimate, 1);
  EXPECT_FALSE(change.agreement);
}

TEST(PairedJudgement, ReportsHowManyMorePairsWouldSettleIt) {
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  std::vector<std::vector<double>> base, candidate;
  for (double const apart : {4.0, -5.0, 3.0, -3.0, 5.0, -4.0, 1.0, -1.0}) {
    base.push_back({100});
    candidate.push_back({100 + apart});
  }

  Change const few = measure_pairs(base, candidate);
  ASSERT_EQ(judge(few, few.p, 2), Verdict::kUnclear);
  auto const more = values_to_settle(few, 2);
  ASSERT_TRUE(more);
  EXPECT_EQ(more->unit, CompareUnit::kPair);
  EXPECT_TRUE(more->on_both_sides);
  EXPECT_GT(more->count, 5U);
  EXPECT_LE(more->count, kMostMoreRuns);

  auto const noise = noise_of(few, 2);
  ASSERT_TRUE(noise);
  EXPECT_NEAR(noise->deviation, 3.8, 0.1);

  for (int i = 0; i < 200; ++i) {
    base.push_back({100});
    candidate.push_back({100 + 4 * normal(random)});
  }
  Change const many = measure_pairs(base, candidate);
  EXPECT_EQ(many.method, CompareMethod::kSignedRank);
  EXPECT_EQ(judge(many, many.p, 2), Verdict::kSame);
  EXPECT_NEAR(noise_of(many, 2)->deviation, 4, 0.6);
}

}  // namespace
}  // namespace stepscope::analyzer
