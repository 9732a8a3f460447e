// How often comparisons find a change where there is one and where there is none, and what counts
// as one value.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "analyzer/compare/judgement.h"
#include "tests/support/sanitized.h"

namespace stepscope::analyzer {
namespace {

using Side = std::vector<std::vector<double>>;

struct JudgedNoise {
  double step = 0.01;  ///< share of the mean by which steps vary
  double alike = 0;    ///< correlation of successive steps
  double run = 0;      ///< share by which runs vary
  double drift = 0;    ///< share by which a run grows from its first step to its last
};

/// Runs of steps that take about 100.
Side made_side(std::mt19937& random, size_t runs, size_t steps, double mean,
               JudgedNoise const& noise) {
  std::normal_distribution<double> normal;
  Side side(runs);

  for (auto& run : side) {
    double const of_run = 1 + noise.run * normal(random);
    double state = normal(random);
    for (size_t s = 0; s < steps; ++s) {
      double const grown = 1 + noise.drift * static_cast<double>(s) / static_cast<double>(steps);
      run.push_back(mean * of_run * grown * (1 + noise.step * state));
      state = noise.alike * state + std::sqrt(1 - noise.alike * noise.alike) * normal(random);
    }
  }

  return side;
}

Verdict judged(Side const& base, Side const& candidate, RankSums& sums) {
  Change const change = measure_change(base, candidate, sums);
  return judge(change, change.p, 0.02 * change.base_mean);
}

TEST(CompareJudgement, TypicalStepsAndTheMeanThatDisagreeAreUnclear) {
  std::mt19937 random(5);
  RankSums sums;
  Side const base = made_side(random, 1, 50, 100, {});
  Side candidate = made_side(random, 1, 50, 94, {});
  EXPECT_EQ(judged(base, candidate, sums), Verdict::kLess);

  // The mean of both sides is the same: typical steps are faster all the same.
  for (size_t s = 0; s < 5; ++s) candidate[0][10 * s] += 60;
  EXPECT_EQ(judged(base, candidate, sums), Verdict::kLess);

  // A step takes longer than before, if anybody asks for the mean.
  for (size_t s = 0; s < 5; ++s) candidate[0][10 * s] += 100;
  EXPECT_EQ(judged(base, candidate, sums), Verdict::kUnclear);
}

struct JudgedPairs {
  int less = 0, more = 0, same = 0;
};

JudgedPairs judge_pairs(int pairs, size_t runs, size_t steps, double slowdown,
                        JudgedNoise const& noise) {
  std::mt19937 random(20'24);
  RankSums sums;
  JudgedPairs counted;

  for (int i = 0; i < pairs; ++i) {
    Side const base = made_side(random, runs, steps, 100, noise);
    Verdict const verdict =
        judged(base, made_side(random, runs, steps, 100 * (1 + slowdown), noise), sums);
    counted.less += verdict == Verdict::kLess ? 1 : 0;
    counted.more += verdict == Verdict::kMore ? 1 : 0;
    counted.same += verdict == Verdict::kSame ? 1 : 0;
  }

  return counted;
}

/// Sanitizers look for other faults, for which a few pairs are enough.
int const kJudgedPairs = support::kSanitized ? 40 : 1000;

TEST(CompareJudgement, FiveOf1000UnchangedPairsAtMostAreTakenForChanged) {
  for (double const step : {0.002, 0.01, 0.05, 0.1, 0.3})
    for (size_t const steps : {5U, 8U, 20U, 100U}) {
      JudgedPairs const pairs = judge_pairs(kJudgedPairs, 1, steps, 0, {.step = step});
      EXPECT_LE(pairs.less + pairs.more, 5) << "noise " << step << ", steps " << steps;
    }
}

TEST(CompareJudgement, NorAreTheyWhereStepsFollowEachOther) {
  struct Known {
    double alike;
    size_t steps;
  };
  for (Known const known :
       {Known{0.3, 20}, {0.3, 100}, {0.5, 20}, {0.6, 40}, {0.6, 100}, {0.9, 100}, {0.9, 400}}) {
    JudgedPairs const pairs =
        judge_pairs(kJudgedPairs, 1, known.steps, 0, {.step = 0.03, .alike = known.alike});
    EXPECT_LE(pairs.less + pairs.more, 5)
        << "correlation " << known.alike << ", steps " << known.steps;
  }

  // One such wave lasts about 20 steps: hardly anything distinguishes it from a change.
  JudgedPairs const waves = judge_pairs(kJudgedPairs, 1, 20, 0, {.step = 0.03, .alike = 0.9});
  EXPECT_LE(waves.less + waves.more, 25);
}

TEST(CompareJudgement, NorAreTheyWhereRunsDiffer) {
  for (size_t const runs : {2U, 3U, 6U, 10U})
    for (double const run : {0.01, 0.05}) {
      JudgedPairs const pairs = judge_pairs(kJudgedPairs, runs, 20, 0, {.step = 0.01, .run = run});
      EXPECT_LE(pairs.less + pairs.more, 5) << runs << " runs that vary by " << run;
    }
}

TEST(CompareJudgement, ASlowdownOf5PercentIsSeenIn99Of100Pairs) {
  EXPECT_GE(judge_pairs(kJudgedPairs, 1, 20, 0.05, {.step = 0.01}).more, kJudgedPairs * 99 / 100);
  EXPECT_GE(judge_pairs(kJudgedPairs, 1, 20, -0.05, {.step = 0.01}).less, kJudgedPairs * 99 / 100);
  EXPECT_GE(judge_pairs(kJudgedPairs, 5, 20, 0.05, {.step = 0.01, .run = 0.003}).more,
            kJudgedPairs * 99 / 100);
}

TEST(CompareJudgement, UnchangedPairsOfLittleNoiseAreTheSame) {
  EXPECT_GE(judge_pairs(kJudgedPairs, 1, 20, 0, {.step = 0.01}).same, kJudgedPairs * 99 / 100);
  EXPECT_GE(judge_pairs(kJudgedPairs, 3, 20, 0, {.step = 0.01, .run = 0.003}).same,
            kJudgedPairs * 99 / 100);
}

TEST(CompareJudgement, AChangeBelowTheLeastThatMattersIsNone) {
  JudgedPairs const pairs = judge_pairs(100, 1, 100, 0.01, {.step = 0.002});
  EXPECT_EQ(pairs.same, 100);
}

TEST(CompareJudgement, OneRunASideIsComparedStepByStep) {
  std::mt19937 random(3);
  RankSums sums;
  Change const change =
      measure_change(made_side(random, 1, 20, 100, {}), made_side(random, 1, 24, 110, {}), sums);
  EXPECT_EQ(change.unit, CompareUnit::kStep);
  EXPECT_EQ(change.method, CompareMethod::kMannWhitney);
  EXPECT_EQ(change.base_values, 20U);
  EXPECT_EQ(change.candidate_values, 24U);
  EXPECT_NEAR(change.shift.estimate, 10, 1);
}

TEST(CompareJudgement, StepsThatFollowEachOtherAreComparedInBlocks) {
  std::mt19937 random(4);
  RankSums sums;
  JudgedNoise const noise{.step = 0.01, .alike = 0.8};
  Change const change = measure_change(made_side(random, 1, 200, 100, noise),
                                       made_side(random, 1, 200, 110, noise), sums);
  EXPECT_EQ(change.unit, CompareUnit::kBlock);
  EXPECT_GE(change.steps_per_value, 4U);
  EXPECT_EQ(judge(change, change.p, 2), Verdict::kMore);
}

TEST(CompareJudgement, ADriftIsNoChangeUnlessAllOfOneSideIsBeyondAllOfTheOther) {
  std::mt19937 random(5);
  RankSums sums;
  JudgedNoise const drifting{.step = 0.001, .drift = 0.2};
  Side const base = made_side(random, 1, 40, 100, drifting);
  Change const little = measure_change(base, made_side(random, 1, 40, 106, drifting), sums);
  EXPECT_TRUE(little.drifts);
  EXPECT_EQ(judge(little, little.p, 2), Verdict::kUnclear);
  Change const much = measure_change(base, made_side(random, 1, 40, 160, drifting), sums);
  EXPECT_EQ(judge(much, much.p, 2), Verdict::kMore);
}

TEST(CompareJudgement, OfSeveralRunsARunIsOneValue) {
  std::mt19937 random(6);
  RankSums sums;
  Change const few =
      measure_change(made_side(random, 3, 50, 100, {}), made_side(random, 1, 50, 100, {}), sums);
  EXPECT_EQ(few.unit, CompareUnit::kRun);
  EXPECT_EQ(few.method, CompareMethod::kStudent);
  EXPECT_EQ(few.base_values, 3U);
  EXPECT_EQ(few.candidate_values, 1U);

  Change const many =
      measure_change(made_side(random, 7, 9, 100, {}), made_side(random, 8, 9, 100, {}), sums);
  EXPECT_EQ(many.method, CompareMethod::kMannWhitney);
}

TEST(CompareJudgement, OneLongCallIsNoChangeOfFewRuns) {
  std::mt19937 random(8);
  JudgedNoise const little{.step = 0.02, .run = 0.005};
  Side const base = made_side(random, 3, 80, 14, little);
  Side candidate = made_side(random, 1, 80, 14, little);
  candidate[0][40] = 4'066;
  RankSums sums;
  EXPECT_EQ(judged(base, candidate, sums), Verdict::kUnclear) << "its mean is 65";
  EXPECT_EQ(judged(base, made_side(random, 1, 80, 65, little), sums), Verdict::kMore);
}

TEST(CompareJudgement, RunsWithoutValuesDoNotCount) {
  RankSums sums;
  Change const change =
      measure_change(Side{{}, {1, 1, 1, 1, 1, 1}}, Side{{2, 2, 2, 2, 2, 2}, {}}, sums);
  EXPECT_EQ(change.unit, CompareUnit::kStep);
  EXPECT_EQ(judge(change, change.p, 0.1), Verdict::kMore);
}

TEST(CompareJudgement, FewerThanFiveStepsHaveNoVerdict) {
  RankSums sums;
  Change const change = measure_change(Side{{1, 1, 1, 1}}, Side{{2, 2, 2, 2, 2, 2}}, sums);
  EXPECT_EQ(change.method, CompareMethod::kNone);
  EXPECT_EQ(change.base_mean, 1);
  EXPECT_EQ(judge(change, 0, 0.1), Verdict::kUnclear);
  EXPECT_EQ(judge(measure_change(Side{{5}}, Side{{5}}, sums), 1, 0.1), Verdict::kUnclear);
}

TEST(CompareJudgement, VeryManyStepsAreAveraged) {
  std::mt19937 random(8);
  RankSums sums;
  Change const change =
      measure_change(made_side(random, 1, 5000, 100, {}), made_side(random, 1, 50, 100, {}), sums);
  EXPECT_LE(change.base_values, kMostComparedValues);
  EXPECT_EQ(change.unit, CompareUnit::kBlock);
}

TEST(CompareJudgement, ReportsHowManyRunsWouldSettleAChange) {
  RankSums sums;
  auto const runs_of = [](std::vector<double> const& means) {
    Side side;
    for (double const mean : means) side.emplace_back(std::vector<double>(3, mean));
    return side;
  };

  // Two against two that are a third as long are no chance, but two values a side cannot show it.
  Change const change = measure_change(runs_of({100, 115}), runs_of({33, 48}), sums);
  ASSERT_EQ(judge(change, change.p, 2), Verdict::kUnclear);
  EXPECT_EQ(needed_runs(change, 2), 3U);

  // As many values that vary alike do settle it.
  Change const more = measure_change(runs_of({100, 115, 107}), runs_of({33, 48, 40}), sums);
  EXPECT_EQ(judge(more, more.p, 2), Verdict::kLess);
  EXPECT_GT(needed_runs(measure_change(runs_of({100, 120}), runs_of({90, 110}), sums), 2), 10U);
  EXPECT_EQ(needed_runs(measure_change(runs_of({100, 200}), runs_of({100, 200}), sums), 2), 0U);
  EXPECT_EQ(needed_runs(Change{}, 2), 0U);
}

TEST(CompareJudgement, ConstantsAreComparedAsTheyAre) {
  RankSums sums;
  Side const seven(1, std::vector<double>(20, 7)), eight(1, std::vector<double>(20, 8));
  Change const change = measure_change(seven, eight, sums);
  EXPECT_EQ(judge(change, change.p, 0.14), Verdict::kMore);
  EXPECT_EQ(judge(measure_change(seven, seven, sums), 1, 0), Verdict::kSame);
  Change const of_runs =
      measure_change(Side(2, std::vector<double>(3, 7)), Side(2, std::vector<double>(3, 8)), sums);
  EXPECT_EQ(judge(of_runs, of_runs.p, 0.14), Verdict::kMore);
}

}  // namespace
}  // namespace stepscope::analyzer
