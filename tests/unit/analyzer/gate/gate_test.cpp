// Verdicts of the gate on hand-made measurements: a run that is worse beyond doubt fails, a change
// that cannot be distinguished from noise is unclear, every other run passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/gate/gate.h"
#include "analyzer/gate/kept_sample.h"
#include "tests/unit/analyzer/gate/gate_samples.h"

namespace stepscope::analyzer {
namespace {

using gate_testing::measured_run;
using gate_testing::noisy;

constexpr double kStep = 10e6;  // 10 ms

std::vector<RunMeasurements> gate_side(double mean, double deviation, uint64_t seed,
                                       size_t runs = 1, size_t steps = 20) {
  std::vector<RunMeasurements> side;
  for (size_t i = 0; i < runs; ++i)
    side.push_back(measured_run(noisy(mean, deviation, steps, seed + 1000 * i)));
  return side;
}
Budget gate_budget(std::string const& fact, Bound bound, double limit) {
  return {fact, bound, limit, "budgets.toml", 3, 1};
}
BudgetCheck checked(std::string const& fact, Bound bound, double limit,
                    std::vector<RunMeasurements> const& runs) {
  return check_budget(gate_budget(fact, bound, limit), runs);
}

TEST(Gate, TheSameProgramPasses) {
  GateResult const result =
      check_runs(gate_side(kStep, 0.01 * kStep, 1), gate_side(kStep, 0.01 * kStep, 2), {});
  EXPECT_EQ(result.verdict, GateVerdict::kPassed);
  ASSERT_EQ(result.answers.size(), 2U);
  EXPECT_EQ(result.answers[0].question, GateQuestion::kStepTime);
  EXPECT_EQ(result.answers[1].question, GateQuestion::kMemory);
}

TEST(Gate, ASlowdownFailsAndASpeedupPasses) {
  auto const base = gate_side(kStep, 0.01 * kStep, 1);
  EXPECT_EQ(check_runs(base, gate_side(1.05 * kStep, 0.01 * kStep, 2), {}).verdict,
            GateVerdict::kFailed);
  EXPECT_EQ(check_runs(base, gate_side(0.9 * kStep, 0.01 * kStep, 2), {}).verdict,
            GateVerdict::kPassed);
}

TEST(Gate, UnchangedRunsHardlyEverFailAndSlowOnesNearlyAlwaysDo) {
  int false_alarms = 0, found = 0;
  constexpr int kPairs = 300;

  for (int i = 0; i < kPairs; ++i) {
    auto const seed = static_cast<uint64_t>(i) * 7 + 1;
    auto const base = gate_side(kStep, 0.01 * kStep, seed, 1, 20);
    false_alarms += check_runs(base, gate_side(kStep, 0.01 * kStep, seed + 3), {}).verdict ==
                            GateVerdict::kFailed
                        ? 1
                        : 0;
    found += check_runs(base, gate_side(1.05 * kStep, 0.01 * kStep, seed + 4), {}).verdict ==
                     GateVerdict::kFailed
                 ? 1
                 : 0;
  }

  EXPECT_LE(false_alarms, 2);  // 0.2 % a pair
  EXPECT_GE(found, kPairs * 99 / 100);
}

TEST(Gate, TooFewStepsAreUnclear) {
  GateResult const result =
      check_runs(gate_side(kStep, 1e5, 1, 1, 4), gate_side(kStep, 1e5, 2, 1, 4), {});
  EXPECT_EQ(result.verdict, GateVerdict::kUnclear);
  EXPECT_FALSE(result.answers[0].more.has_value());
}

TEST(Gate, MoreMemoryBeyondDoubtFails) {
  auto const base = gate_side(kStep, 1e5, 1);
  auto candidate = gate_side(kStep, 1e5, 2);
  for (double& bytes : candidate[0].allocated_bytes) bytes *= 1.1;
  GateResult const result = check_runs(base, candidate, {});
  EXPECT_EQ(result.verdict, GateVerdict::kFailed);
  EXPECT_EQ(result.answers[0].verdict, GateVerdict::kPassed);
  EXPECT_EQ(result.answers[1].verdict, GateVerdict::kFailed);
}

TEST(Gate, ABaselineOfAnotherMachineGivesNoVerdict) {
  auto const base = gate_side(kStep, 1e5, 1);
  auto candidate = gate_side(2 * kStep, 1e5, 2);
  candidate[0].device_names = {"NVIDIA L4"};

  GateResult const result = check_runs(base, candidate, {});
  EXPECT_TRUE(result.is_other_machine);
  EXPECT_EQ(result.verdict, GateVerdict::kUnclear);

  // The processor counts where it is the device.
  auto hosts = base, other_hosts = base;
  hosts[0].device_names = other_hosts[0].device_names = {"host:0"};
  hosts[0].facts = {{"cpu", "a"}};
  other_hosts[0].facts = {{"cpu", "b"}};
  EXPECT_TRUE(check_runs(hosts, other_hosts, {}).is_other_machine);
  hosts[0].device_names = other_hosts[0].device_names = {"NVIDIA L4"};
  EXPECT_FALSE(check_runs(hosts, other_hosts, {}).is_other_machine);
}

TEST(Gate, WhatCannotBeComparedIsRefused) {
  auto other = gate_side(kStep, 1e5, 2);
  other[0].kernels[0].name = "conv";
  other[0].kernel_names = {"conv"};
  GateResult const result = check_runs(gate_side(kStep, 1e5, 1), other, {});
  ASSERT_TRUE(result.comparison && result.comparison->refusal);
  EXPECT_EQ(*result.comparison->refusal, Refusal::kNoCommonKernel);
}

TEST(Gate, ABrokenBudgetFailsWithoutABaseline) {
  auto const candidate = gate_side(kStep, 1e5, 1);
  EXPECT_EQ(check_runs({}, candidate, {gate_budget("step_time_ms", Bound::kAtMost, 9)}).verdict,
            GateVerdict::kFailed);
  EXPECT_EQ(check_runs({}, candidate, {gate_budget("step_time_ms", Bound::kAtMost, 11)}).verdict,
            GateVerdict::kPassed);
}

TEST(GateBudget, IsKeptOrBrokenOnlyWithItsWholeInterval) {
  auto const runs = gate_side(kStep, 0.02 * kStep, 1, 1, 40);
  BudgetCheck const near = checked("step_time_ms", Bound::kAtMost, 10.01, runs);
  ASSERT_TRUE(near.interval.has_value());
  EXPECT_LT(near.interval->low, 10.01);
  EXPECT_GT(near.interval->high, 10.01);
  EXPECT_EQ(near.verdict, GateVerdict::kUnclear);
  EXPECT_EQ(checked("step_time_ms", Bound::kAtMost, 10.5, runs).verdict, GateVerdict::kPassed);
  EXPECT_EQ(checked("step_time_ms", Bound::kAtLeast, 10.5, runs).verdict, GateVerdict::kFailed);
}

TEST(GateBudget, SharesAreOfTheMeanStep) {
  auto const runs = gate_side(kStep, 1e5, 1);
  EXPECT_NEAR(checked("compute_share", Bound::kAtLeast, 0.5, runs).value.value(), 0.9, 1e-6);
  EXPECT_NEAR(checked("idle_input_share", Bound::kAtMost, 0.5, runs).value.value(), 0.1, 1e-6);
  EXPECT_NEAR(checked("idle_ms", Bound::kAtMost, 5, runs).value.value(),
              checked("idle_input_ms", Bound::kAtMost, 5, runs).value.value(), 1e-9);
  EXPECT_EQ(checked("exposed_comm_share", Bound::kAtMost, 0, runs).verdict, GateVerdict::kPassed);
}

TEST(GateBudget, ExposedCommunicationIncludesWaiting) {
  auto runs = gate_side(kStep, 0, 1);
  runs[0].parts_ns[static_cast<size_t>(StepPart::kCommunication)].assign(20, 1e6);
  runs[0].parts_ns[static_cast<size_t>(StepPart::kWaiting)].assign(20, 2e6);
  EXPECT_NEAR(checked("exposed_comm_ms", Bound::kAtMost, 1, runs).value.value(), 3, 1e-9);
  EXPECT_NEAR(checked("exposed_late_ms", Bound::kAtMost, 1, runs).value.value(), 2, 1e-9);
}

TEST(GateBudget, PeaksAreThoseOfTheWorstRun) {
  auto runs = gate_side(kStep, 1e5, 1, 2);
  runs[1].peak_allocated_bytes = 4e9;
  BudgetCheck const check = checked("peak_memory_gb", Bound::kAtMost, 3.5, runs);
  EXPECT_EQ(check.value, 4.0);
  EXPECT_EQ(check.verdict, GateVerdict::kFailed);
  EXPECT_EQ(checked("peak_memory_gb", Bound::kAtLeast, 3, runs).value, 3.0);
  EXPECT_NEAR(checked("peak_memory_gib", Bound::kAtMost, 3, runs).value.value(), 4e9 / (1U << 30U),
              1e-9);
}

TEST(GateBudget, OnWhatIsNotKnownIsUnclearAndNeverPassed) {
  auto runs = gate_side(kStep, 1e5, 1);
  runs[0].peak_reserved_bytes.reset();
  BudgetCheck const check = checked("peak_reserved_gb", Bound::kAtMost, 1000, runs);
  EXPECT_FALSE(check.value.has_value());
  EXPECT_EQ(check.verdict, GateVerdict::kUnclear);
  EXPECT_EQ(check_runs({}, runs, {gate_budget("peak_reserved_gb", Bound::kAtMost, 1000)}).verdict,
            GateVerdict::kUnclear);
}

TEST(GateBudget, ABrokenOneOutweighsOneThatIsUnclear) {
  auto const runs = gate_side(kStep, 1e5, 1);
  GateResult const result = check_runs({}, runs,
                                       {gate_budget("peak_reserved_gb", Bound::kAtMost, 1000),
                                        gate_budget("quality", Bound::kAbove, 100)});
  EXPECT_EQ(result.verdict, GateVerdict::kFailed);
}

TEST(GateBudget, EveryFactHasAValueInAHandMadeRun) {
  auto runs = gate_side(kStep, 1e5, 1);
  runs[0].peak_reserved_bytes = 4e9;
  for (BudgetFact const& fact : budget_facts()) {
    BudgetCheck const check = checked(fact.name, Bound::kAtLeast, 0, runs);
    EXPECT_TRUE(check.value.has_value()) << fact.name;
    EXPECT_EQ(check.verdict, GateVerdict::kPassed) << fact.name;
  }
}

TEST(GateBudget, MisspelledNamesAreRecognized) {
  EXPECT_EQ(nearest_budget_fact("step_time"), "step_time_ms");
  EXPECT_EQ(nearest_budget_fact("exposed_com_share"), "exposed_comm_share");
  EXPECT_EQ(nearest_budget_fact("colour"), "");
  EXPECT_EQ(nearest_budget_fact(std::string(100'000, 'x')), "");
}

TEST(GateMean, IntervalCoversTheMeanAtItsConfidence) {
  std::mt19937_64 random(5);
  int holds = 0;
  constexpr int kTrials = 1000;
  for (int i = 0; i < kTrials; ++i) {
    std::vector<std::vector<double>> const run = {noisy(1e6, 1e4, 30, random)};
    MeanInterval const mean = measure_mean(run);
    holds += mean.low <= 1e6 && mean.high >= 1e6 ? 1 : 0;
  }
  EXPECT_NEAR(holds, 950, 25);
}

TEST(GateMean, CorrelatedStepsWidenTheInterval) {
  std::mt19937_64 random(5);
  int holds = 0;
  constexpr int kTrials = 400;

  for (int i = 0; i < kTrials; ++i) {
    std::normal_distribution<double> noise(0, 1e4);
    std::vector<std::vector<double>> run(1);
    double value = noise(random);
    for (int s = 0; s < 200; ++s)
      run[0].push_back(1e6 + (value = 0.7 * value + std::sqrt(1 - 0.49) * noise(random)));
    MeanInterval const mean = measure_mean(run);
    EXPECT_LT(mean.independent, 100);
    holds += mean.low <= 1e6 && mean.high >= 1e6 ? 1 : 0;
  }

  EXPECT_GE(holds, kTrials * 90 / 100);
}

TEST(GateBudget, IntervalsOfTimesAndSharesEndWhereNoneAre) {
  // Two runs that are far apart: Student's interval spans from minus ten times their mean to plus
  // as many.
  std::vector<RunMeasurements> const runs = {measured_run({1e6, 1e6, 1e6}),
                                             measured_run({9e6, 9e6, 9e6})};
  BudgetCheck const time = checked("step_time_ms", Bound::kAtMost, 3, runs);
  ASSERT_TRUE(time.interval);
  EXPECT_EQ(time.interval->low, 0);
  EXPECT_GT(time.interval->high, 50);

  std::vector<RunMeasurements> other = runs;
  other[0].parts_ns[0] = {0, 0, 0};
  BudgetCheck const share = checked("compute_share", Bound::kAtLeast, 0.2, other);
  ASSERT_TRUE(share.interval);
  EXPECT_EQ(share.interval->low, 0);
  EXPECT_EQ(share.interval->high, 1);
}

TEST(GateBaseline, HasItsRunsAndTheChangeThatAsManyNewOnesWouldDetect) {
  auto const runs = gate_side(kStep, 0.01 * kStep, 1, 4);
  KeptBaseline const kept = describe_baseline(runs, 0.02);
  ASSERT_EQ(kept.runs.size(), 4U);
  EXPECT_EQ(kept.runs[3].name, "made");
  EXPECT_EQ(kept.runs[3].steps, 20U);
  EXPECT_DOUBLE_EQ(kept.runs[3].step_ns, runs[3].steady_steps_ns);
  EXPECT_EQ(kept.runs[3].peak_allocated_bytes, 3e9);
  EXPECT_NEAR(kept.step_ns, kStep, 0.01 * kStep);

  ASSERT_TRUE(kept.noise);
  EXPECT_EQ(kept.unit, CompareUnit::kRun);
  // Four runs detect no change as small as the least that counts.
  EXPECT_GT(kept.noise->detectable_change, 0.02 * kStep);
  EXPECT_LT(kept.noise->detectable_change, 0.06 * kStep);

  // Runs that vary more detect larger changes only.
  auto apart = runs;
  for (double& ns : apart[0].step_ns) ns *= 1.3;
  EXPECT_GT(describe_baseline(apart, 0.02).noise.value().detectable_change,
            2 * kept.noise->detectable_change);
}

TEST(GateBaseline, ASingleRunIsJudgedByItsStepsAndASingleStepNotAtAll) {
  EXPECT_EQ(describe_baseline(gate_side(kStep, 0.01 * kStep, 1), 0.02).unit, CompareUnit::kStep);
  KeptBaseline const least = describe_baseline({measured_run({kStep})}, 0.02);
  EXPECT_EQ(least.step_ns, kStep);
  EXPECT_FALSE(least.noise);
}

TEST(GateMean, OfSeveralRunsARunIsAValue) {
  std::vector<std::vector<double>> const runs = {{1, 1, 1}, {}, {3, 3}, {2}};
  MeanInterval const mean = measure_mean(runs);
  EXPECT_EQ(mean.unit, CompareUnit::kRun);
  EXPECT_EQ(mean.values, 3U);
  EXPECT_DOUBLE_EQ(mean.mean, 2);
  EXPECT_TRUE(mean.is_known);
}

}  // namespace
}  // namespace stepscope::analyzer
