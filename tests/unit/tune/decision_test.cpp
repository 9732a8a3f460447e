// When pairs decide: gains, futility, and how often chance is taken for a gain.
#include <algorithm>
#include <cmath>
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/tune/tune_samples.h"
#include "tune/decision.h"

namespace stepscope::tune {
namespace {

std::vector<PairCosts> pairs_of(std::vector<double> const& savings) {
  std::vector<PairCosts> pairs;
  for (double const saving : savings)
    pairs.push_back({1e6, 1e6 * (1 - saving), 1e6, 1e6 * (1 - saving)});
  return pairs;
}
constexpr PairNoise kCalm{0.005, 3};

TEST(Decision, NothingIsDecidedBeforeTheThirdPair) {
  auto const judged = judge_pairs(pairs_of({0.5, 0.5}), {}, kCalm, {});
  EXPECT_EQ(judged.decision, PairDecision::kGoOn);
  EXPECT_NEAR(judged.saving.saving, 0.5, 1e-9);
}

TEST(Decision, AGainCountsOnlyWithAllOfItsInterval) {
  EXPECT_EQ(judge_pairs(pairs_of({0.100, 0.101, 0.099, 0.1}), {}, kCalm, {}).decision,
            PairDecision::kFaster);
  // The mean is above 2 %, its interval is not.
  EXPECT_EQ(judge_pairs(pairs_of({0.021, 0.025, 0.019, 0.03}), {}, kCalm, {}).decision,
            PairDecision::kGoOn);
  EXPECT_EQ(judge_pairs(pairs_of({0.1, 0.3, 0.02}), {}, kCalm, {}).decision, PairDecision::kGoOn);
}

TEST(Decision, WhatCannotReachTheSmallestGainIsGivenUp) {
  EXPECT_EQ(judge_pairs(pairs_of({0.001, -0.002, 0.0}), {}, kCalm, {}).decision,
            PairDecision::kNoGain);
  EXPECT_EQ(judge_pairs(pairs_of({-0.1, -0.1, -0.11}), {}, kCalm, {}).decision,
            PairDecision::kNoGain);
  EXPECT_EQ(judge_pairs(pairs_of({0.01, -0.02, 0.0}), {}, {0.05, 3}, {}).decision,
            PairDecision::kGoOn);
}

TEST(Decision, PairsEnd) {
  std::vector<double> savings;
  for (int i = 0; i < 16; ++i) savings.push_back(i % 2 == 0 ? 0.06 : -0.01);
  EXPECT_EQ(judge_pairs(pairs_of(savings), {0.02, 16}, {0.05, 3}, {}).decision,
            PairDecision::kUnclear);
}

TEST(Decision, ManyOtherCandidatesAskForMore) {
  // Such a p is one that one of many candidates has by chance.
  std::vector<double> const savings = {0.10, 0.101, 0.11, 0.09};
  double const p = measure_saving(pairs_of(savings)).p;
  ASSERT_LT(p, 0.002);
  std::vector<double> const few(3, 0.5), many(static_cast<size_t>(0.1 / p), 0.5);
  EXPECT_EQ(judge_pairs(pairs_of(savings), {}, kCalm, few).decision, PairDecision::kFaster);
  EXPECT_EQ(judge_pairs(pairs_of(savings), {}, kCalm, many).decision, PairDecision::kGoOn);
}

TEST(Decision, FasterStepsDoNotPayForStalls) {
  auto pairs = pairs_of({0.1, 0.101, 0.099, 0.1});
  for (PairCosts& pair : pairs) pair.candidate_all = 1.3e6 + pair.candidate / 100;
  EXPECT_EQ(judge_pairs(pairs, {}, kCalm, {}).decision, PairDecision::kSlowSteps);
}

TEST(Decision, NoiseIsThatOfEqualRuns) {
  auto const noise = noise_of_equal_pairs(pairs_of({0.01, -0.01, 0.01}));
  EXPECT_NEAR(noise.sigma, 0.01, 1e-4);
  EXPECT_EQ(noise.degrees, 3);
  auto const joined = joined_noise(noise, pairs_of({0.2, 0.2, 0.2}));
  EXPECT_NEAR(joined.sigma, 0.01 * std::sqrt(3.0 / 5), 1e-4);
  EXPECT_EQ(joined.degrees, 5);
}

TEST(Decision, NeededPairsGrowWithTheNoiseUntilThereAreTooFew) {
  EXPECT_EQ(needed_pairs({0.01, 3}, {}), 5U);
  EXPECT_EQ(needed_pairs({0.02, 3}, {}), 7U);
  EXPECT_EQ(needed_pairs({0.03, 3}, {}), 12U);
  EXPECT_EQ(needed_pairs({0.04, 3}, {}), 0U);
  EXPECT_GT(needed_pairs({0.04, 3}, {0.02, 32}), 16U);
}

/// Outcomes of candidates that save so much, at a noise measured with three pairs.
std::vector<std::pair<PairDecision, size_t>> simulate(double saving, double sigma, int count) {
  testing_machine::Machine machine(
      [&](Settings const& settings) { return settings[0] == "1" ? 1 - saving : 1; }, sigma, 7);
  Action equal, different;
  equal.base = equal.settings = different.base = {"0"};
  different.settings = {"1"};

  std::vector<std::pair<PairDecision, size_t>> outcomes;
  for (int i = 0; i < count; ++i) {
    std::vector<PairCosts> equal_pairs, pairs;
    for (size_t n = 0; n < kNoisePairs; ++n) equal_pairs.push_back(machine.run_pair(equal).costs);
    PairNoise const noise = noise_of_equal_pairs(equal_pairs);

    PairDecision decision = PairDecision::kGoOn;
    while (decision == PairDecision::kGoOn) {
      pairs.push_back(machine.run_pair(different).costs);
      decision = judge_pairs(pairs, {}, noise, {}).decision;
    }
    outcomes.emplace_back(decision, pairs.size());
  }
  return outcomes;
}
size_t count_of(std::vector<std::pair<PairDecision, size_t>> const& outcomes, PairDecision what) {
  return static_cast<size_t>(
      std::count_if(outcomes.begin(), outcomes.end(),
                    [&](auto const& outcome) { return outcome.first == what; }));
}

TEST(DecisionSimulation, FewerThanTwoOfAHundredCandidatesWithoutAnEffectAreTaken) {
  for (double const sigma : {0.01, 0.02, 0.04})
    EXPECT_LE(count_of(simulate(0, sigma, 1000), PairDecision::kFaster), 20U) << sigma;
}

TEST(DecisionSimulation, FivePercentAreFoundInSixPairsAtANoiseOfTwo) {
  auto const outcomes = simulate(0.05, 0.02, 400);
  EXPECT_GE(count_of(outcomes, PairDecision::kFaster), 392U);
  std::vector<size_t> pairs;
  for (auto const& [decision, count] : outcomes) pairs.push_back(count);
  std::sort(pairs.begin(), pairs.end());
  EXPECT_GE(pairs[pairs.size() / 2], 5U);
  EXPECT_LE(pairs[pairs.size() / 2], 7U);
}

TEST(DecisionSimulation, WithoutAnEffectFewPairsAreSpent) {
  double pairs = 0;
  auto const outcomes = simulate(0, 0.02, 400);
  for (auto const& [decision, count] : outcomes) pairs += static_cast<double>(count);
  EXPECT_LT(pairs / 400, 7);
}

}  // namespace
}  // namespace stepscope::tune
