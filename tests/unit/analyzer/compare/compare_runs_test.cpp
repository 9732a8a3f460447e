// What changed between synthetic runs, and why. Every part is compared with what was put in, and
// the sum of all parts with the whole.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/compare/change_parts.h"
#include "analyzer/compare/comparison.h"
#include "tests/support/sanitized.h"
#include "tests/support/synthetic_run.h"
#include "tests/unit/analyzer/compare/comparison_samples.h"

namespace stepscope::analyzer {
namespace {

using compare_testing::expect_parts_sum_up;
using compare_testing::has_caveat;
using compare_testing::idle_of;
using compare_testing::metric_of;
using compare_testing::part_of;
using compare_testing::plain_sample;
using compare_testing::sample_of;
using compare_testing::steady_job;
using compare_testing::steps_about;
using support::SyntheticOptions;

RunMeasurements in_turn(RunMeasurements sample, double all_steps_ns) {
  sample.steps_in_turn = 4 * sample.steps.size();
  sample.all_steps_ns = all_steps_ns;
  return sample;
}

/// Four pairs with the same fast steps. The mean of all steps of a candidate is longer by
/// `slower_ns`.
Comparison compare_in_turn(double slower_ns) {
  std::vector<RunMeasurements> base, candidate;
  for (uint32_t i = 0; i < 4; ++i) {
    double const machine = 2000 + 500 * i;
    base.push_back(in_turn(plain_sample(steps_about(machine, i), 1000), machine + 300));
    candidate.push_back(
        in_turn(plain_sample(steps_about(machine, i + 10), 1000), machine + 300 + slower_ns + i));
  }
  return compare_runs(base, candidate, {.paired = true});
}

TEST(CompareRuns, RunsInTurnAreComparedByPairs) {
  Comparison const comparison = compare_in_turn(0);
  EXPECT_EQ(comparison.verdict, Verdict::kSame);
  EXPECT_TRUE(has_caveat(comparison, Caveat::kInTurn));
  EXPECT_FALSE(has_caveat(comparison, Caveat::kOutliers)) << "the machine causes the slow steps";
  EXPECT_NEAR(comparison.caveats.front().ns, 1.5, 1e-9);
}

TEST(CompareRuns, AllStepsThatAreSlowerBeyondDoubtAreNoSilentSame) {
  Comparison const comparison = compare_in_turn(400);
  EXPECT_EQ(comparison.step().verdict, Verdict::kSame);
  EXPECT_EQ(comparison.verdict, Verdict::kUnclear);
  EXPECT_NEAR(comparison.caveats.front().ns, 401.5, 1e-9);
  EXPECT_GT(comparison.caveats.front().low_ns, 390);
}

TEST(CompareRuns, OnePairInTurnHasNoVerdictOfWhatEqualProgramsDifferBy) {
  RunMeasurements const base = in_turn(plain_sample(steps_about(2000, 1), 1000), 2000);
  RunMeasurements const candidate = in_turn(plain_sample(steps_about(2400, 2), 1000), 2400);
  for (bool const paired : {false, true}) {
    Comparison const comparison = compare_runs({base}, {candidate}, {.paired = paired});
    EXPECT_EQ(comparison.verdict, Verdict::kUnclear) << "its fastest steps are no sample of it";
    EXPECT_EQ(comparison.step().change.method, CompareMethod::kNone);
    EXPECT_NEAR(comparison.step().change.shift.estimate, 400, 30);
    expect_parts_sum_up(comparison);
  }
}

/// Interleaved pairs; each candidate takes `factor` of its base.
Comparison compare_far_pairs(std::vector<double> const& factors, double all_steps_factor,
                             size_t steps = 20) {
  std::vector<RunMeasurements> base, candidate;
  for (uint32_t i = 0; i < factors.size(); ++i) {
    double const machine = 2000 + 300 * i;
    base.push_back(in_turn(plain_sample(steps_about(machine, i, steps), 400), machine * 1.2));
    candidate.push_back(in_turn(plain_sample(steps_about(machine * factors[i], i + 10, steps), 400),
                                machine * 1.2 * all_steps_factor));
  }
  return compare_runs(base, candidate, {.paired = true});
}

TEST(CompareRuns, PairsInTurnThatAreFarApartAreClearHoweverFew) {
  for (std::vector<double> const& factors : {std::vector{0.34}, {0.34, 0.36}, {0.34, 0.3, 0.45}}) {
    Comparison const comparison = compare_far_pairs(factors, 0.4);
    EXPECT_EQ(comparison.verdict, Verdict::kLess) << factors.size() << " pairs of about -66 %";
    EXPECT_EQ(comparison.step().change.unit, CompareUnit::kPair);
    EXPECT_LT(comparison.step().change.shift.high, 0);
    EXPECT_EQ(compare_far_pairs({1 / factors[0]}, 2.5).verdict, Verdict::kMore);
  }
}

TEST(CompareRuns, PairsInTurnAreUnclearWhereTheyOrTheirOtherStepsDisagree) {
  EXPECT_EQ(compare_far_pairs({0.34, 1.5}, 0.4).verdict, Verdict::kUnclear);
  EXPECT_EQ(compare_far_pairs({0.34}, 0.9).verdict, Verdict::kUnclear)
      << "all steps are hardly faster";
  EXPECT_EQ(compare_far_pairs({0.34}, 0.4, 4).verdict, Verdict::kUnclear)
      << "four steps are too few";
  EXPECT_EQ(compare_far_pairs({0.85}, 0.85).verdict, Verdict::kUnclear)
      << "equal programs may differ by as much";
}

TEST(CompareRuns, RunsInTurnAreNotComparedWithOthers) {
  RunMeasurements const alone = plain_sample(steps_about(2000, 1), 1000);
  RunMeasurements const turn = in_turn(alone, 2000);
  EXPECT_EQ(compare_runs({alone, alone}, {turn, turn}).refusal, Refusal::kOneSideInTurn);
  EXPECT_EQ(compare_runs({turn, turn}, {turn, alone}).refusal, Refusal::kOneSideInTurn);
  EXPECT_FALSE(compare_runs({turn, turn}, {turn, turn}).refusal);
}

TEST(CompareRuns, TheSameJobIsTheSame) {
  Comparison const comparison =
      compare_runs({sample_of(steady_job(), 1)}, {sample_of(steady_job(), 2)});
  ASSERT_FALSE(comparison.refusal);
  EXPECT_EQ(comparison.verdict, Verdict::kSame);
  for (Metric const& metric : comparison.metrics)
    EXPECT_NE(metric.verdict, Verdict::kMore) << to_string(metric.family) << " " << metric.name;
  EXPECT_TRUE(comparison.differences.empty());
  EXPECT_TRUE(has_caveat(comparison, Caveat::kOneRun));
  expect_parts_sum_up(comparison);
}

TEST(CompareRuns, PartsSumToTheChangeWhateverChanged) {
  std::vector<SyntheticOptions> jobs(9, steady_job());
  jobs[1].forward_ns *= 2;
  jobs[2].layers += 2;
  jobs[3].input_delay_ns = 5'000'000;
  jobs[4].host_delay_ns = 400'000;
  jobs[5].overlap = false;
  jobs[6].straggler_device = 0;
  jobs[7].sync_every_op = true;
  jobs[8].process_per_device = true;
  jobs[8].copy_ns *= 10;

  for (size_t i = 0; i < jobs.size(); ++i)
    for (size_t j = 0; j < jobs.size(); ++j) {
      SCOPED_TRACE(testing::Message() << i << " against " << j);
      expect_parts_sum_up(
          compare_runs({sample_of(jobs[i], 3), sample_of(jobs[i], 4)}, {sample_of(jobs[j], 5)}));
    }
}

TEST(CompareRuns, SlowerKernelsAreNamed) {
  SyntheticOptions slower = steady_job();
  slower.backward_ns = slower.backward_ns * 11 / 10;
  Comparison const comparison = compare_runs({sample_of(steady_job())}, {sample_of(slower, 2)});

  EXPECT_EQ(comparison.verdict, Verdict::kMore);
  int64_t const expected = steady_job().layers * steady_job().backward_ns / 10;
  EXPECT_NEAR(static_cast<double>(part_of(comparison, ChangePart::kKernelSpeed)),
              static_cast<double>(expected), 0.1 * static_cast<double>(expected));
  EXPECT_EQ(part_of(comparison, ChangePart::kKernelCalls), 0);
  EXPECT_EQ(metric_of(comparison, MetricFamily::kPart, "compute").verdict, Verdict::kMore);

  size_t slower_kernels = 0;
  for (Metric const& metric : comparison.metrics)
    slower_kernels +=
        metric.family == MetricFamily::kKernel && metric.verdict == Verdict::kMore ? 1 : 0;
  EXPECT_GT(slower_kernels, 0U);
}

TEST(CompareRuns, TimeOfAKernelIsItsCallsAndTheirSpeed) {
  // 10 calls of 100 ns before, 15 of 80 after: half way, 12.5 · −20 and 90 · 5.
  Comparison const comparison =
      compare_runs({plain_sample(std::vector<double>(20, 2000), 1000, 10)},
                   {plain_sample(std::vector<double>(20, 2200), 1200, 15)});

  EXPECT_EQ(part_of(comparison, ChangePart::kKernelSpeed), -250);
  EXPECT_EQ(part_of(comparison, ChangePart::kKernelCalls), 450);
  EXPECT_EQ(part_of(comparison, ChangePart::kKernelOverlap), 0);
  ASSERT_EQ(comparison.kernels.size(), 1U);
  EXPECT_EQ(comparison.kernels[0].base_calls, 10);
  EXPECT_EQ(metric_of(comparison, MetricFamily::kKernel, "gemm").change.shift.estimate, -20);
  expect_parts_sum_up(comparison);
}

TEST(CompareRuns, WhatRunsSideBySideIsAPartOfItsOwn) {
  RunMeasurements const base = plain_sample(std::vector<double>(20, 2000), 1000);
  RunMeasurements candidate = plain_sample(std::vector<double>(20, 2000), 1000);
  for (double& ns : candidate.kernels[0].ns) ns = 1500;  // 500 ns overlap other calls of it
  Comparison const comparison = compare_runs({base}, {candidate});
  EXPECT_EQ(part_of(comparison, ChangePart::kKernelSpeed), 500);
  EXPECT_EQ(part_of(comparison, ChangePart::kKernelOverlap), -500);
}

TEST(CompareRuns, NewAndVanishedKernelsAreReported) {
  RunMeasurements base = plain_sample(std::vector<double>(20, 2000), 1000),
                  candidate = plain_sample(std::vector<double>(20, 2300), 1300);
  for (auto* sample : {&base, &candidate})
    for (double& ns : sample->kernels[0].ns) ns = 600;
  base.kernels.push_back({"old", std::vector<double>(20, 400), std::vector<double>(20, 2)});
  base.kernel_names.insert("old");
  candidate.kernels.push_back({"fresh", std::vector<double>(20, 700), std::vector<double>(20, 1)});
  candidate.kernel_names.insert("fresh");

  Comparison const comparison = compare_runs({base}, {candidate});
  EXPECT_EQ(part_of(comparison, ChangePart::kNewKernels), 700);
  EXPECT_EQ(part_of(comparison, ChangePart::kVanishedKernels), -400);
  EXPECT_EQ(part_of(comparison, ChangePart::kKernelSpeed), 0);
  ASSERT_EQ(comparison.kernels.size(), 3U);
  EXPECT_EQ(comparison.kernels[0].where, KernelChange::Where::kNew);
  EXPECT_EQ(comparison.kernels[1].where, KernelChange::Where::kVanished);
  expect_parts_sum_up(comparison);
}

TEST(CompareRuns, AKernelThatOneSideHasAmongTheRestIsNeitherNewNorGone) {
  RunMeasurements base = plain_sample(std::vector<double>(20, 2000), 1000), candidate = base;
  candidate.kernels.push_back({"small", std::vector<double>(20, 50), std::vector<double>(20, 1)});
  base.kernels.push_back({"", std::vector<double>(20, 30), std::vector<double>(20, 1)});
  for (auto* sample : {&base, &candidate}) sample->kernel_names.insert("small");
  Comparison const comparison = compare_runs({base}, {candidate});
  EXPECT_EQ(part_of(comparison, ChangePart::kNewKernels), 0);
  EXPECT_EQ(part_of(comparison, ChangePart::kKernelSpeed), 20);
}

TEST(CompareRuns, WaitingIsAttributedToTheLateRank) {
  SyntheticOptions base = steady_job(), candidate = base;
  base.process_per_device = candidate.process_per_device = true;
  candidate.straggler_device = 1;
  candidate.straggler_factor = 1.3;

  Comparison const comparison = compare_runs({sample_of(base)}, {sample_of(candidate)});
  EXPECT_EQ(comparison.verdict, Verdict::kMore);
  EXPECT_GT(part_of(comparison, ChangePart::kWaiting), 1'000'000);
  ASSERT_FALSE(comparison.late.empty());
  EXPECT_EQ(comparison.late[0].rank, 1);
  EXPECT_EQ(comparison.late[0].cause, "compute");
}

TEST(CompareRuns, IdleTimeIsNamedByCauseAndHost) {
  SyntheticOptions candidate = steady_job();
  candidate.input_delay_ns = 5'000'000;
  Comparison const comparison = compare_runs({sample_of(steady_job())}, {sample_of(candidate)});
  EXPECT_NEAR(static_cast<double>(idle_of(comparison, IdleCause::kInput)), 5e6, 5e5);
  ASSERT_FALSE(comparison.host_ops.empty());
  EXPECT_EQ(comparison.host_ops[0].cause, IdleCause::kInput);
}

TEST(CompareRuns, MoreMemoryIsReportedThoughTheStepIsTheSame) {
  RunMeasurements base = plain_sample(steps_about(2000, 1), 1000),
                  candidate = plain_sample(steps_about(2000, 2), 1000);
  base.allocated_bytes.assign(20, 1e9);
  candidate.allocated_bytes.assign(20, 1.1e9);
  Comparison const comparison = compare_runs({base}, {candidate});
  EXPECT_EQ(comparison.verdict, Verdict::kSame);
  EXPECT_EQ(metric_of(comparison, MetricFamily::kMemory, "allocated").verdict, Verdict::kMore);
  EXPECT_FALSE(has_caveat(comparison, Caveat::kNoMemory));
}

TEST(CompareRuns, APartThatDoesNotMatterToTheStepIsTheSame) {
  RunMeasurements base = plain_sample(std::vector<double>(20, 100'000), 99'900),
                  candidate = plain_sample(std::vector<double>(20, 100'100), 99'900);
  Comparison const comparison = compare_runs({base}, {candidate});
  Metric const& input = metric_of(comparison, MetricFamily::kPart, "input");
  EXPECT_EQ(input.change.shift.estimate, 100);  // twice as much
  EXPECT_EQ(input.verdict, Verdict::kSame);
}

TEST(CompareRuns, FamiliesAreCorrectedTogether) {
  RunMeasurements const base = plain_sample(steps_about(2000, 1), 1000),
                        candidate = plain_sample(steps_about(2010, 2), 1000);
  Comparison const comparison = compare_runs({base}, {candidate});
  EXPECT_EQ(comparison.step().adjusted_p, comparison.step().change.p);
  Metric const& input = metric_of(comparison, MetricFamily::kPart, "input");
  EXPECT_DOUBLE_EQ(input.adjusted_p,
                   std::min(1.0, 2 * input.change.p));  // compute and input were tested
}

TEST(CompareRuns, SeveralRunsASideShowHowRunsVary) {
  // Runs vary by 3 %: the steps of two of them alone would differ beyond doubt.
  auto const run = [](double mean, uint32_t seed) {
    return plain_sample(steps_about(mean, seed, 100), 1000);
  };

  Comparison const one = compare_runs({run(2000, 1)}, {run(2060, 2)});
  EXPECT_EQ(one.verdict, Verdict::kMore);
  EXPECT_TRUE(has_caveat(one, Caveat::kOneRun));

  Comparison const several = compare_runs({run(2000, 1), run(2060, 3), run(1940, 4)},
                                          {run(2060, 2), run(1950, 5), run(2010, 6)});
  EXPECT_NE(several.verdict, Verdict::kMore);
  EXPECT_FALSE(has_caveat(several, Caveat::kOneRun));
  EXPECT_TRUE(has_caveat(several, Caveat::kFewRuns));
}

TEST(CompareRuns, OutliersThatCostMoreAreNoSilentSame) {
  RunMeasurements base = plain_sample(steps_about(2000, 1), 1000),
                  candidate = plain_sample(steps_about(2000, 2), 1000);
  candidate.outlier_steps = 4;
  candidate.all_steps_ns = candidate.steady_steps_ns + 400;
  Comparison const comparison = compare_runs({base}, {candidate});
  EXPECT_EQ(comparison.step().verdict, Verdict::kSame);
  EXPECT_EQ(comparison.verdict, Verdict::kUnclear);
  EXPECT_TRUE(has_caveat(comparison, Caveat::kOutliers));
}

TEST(CompareRuns, WhatCannotBeComparedIsRefused) {
  RunMeasurements const good = plain_sample(steps_about(2000, 1), 1000);
  EXPECT_EQ(compare_runs({}, {good}).refusal, Refusal::kNoRun);
  EXPECT_EQ(compare_runs({good, good}, {good}, {.paired = true}).refusal, Refusal::kNotPaired);
  EXPECT_EQ(compare_runs({good}, {plain_sample({}, 0)}).refusal, Refusal::kNoSteps);
  EXPECT_EQ(compare_runs({plain_sample({2000}, 1000)}, {good}).refusal, Refusal::kOneStep);
  EXPECT_FALSE(compare_runs({plain_sample({2000}, 1000), good}, {good}).refusal);
  EXPECT_EQ(compare_runs({good}, {plain_sample(steps_about(2000, 1), 1000, 10, "other")}).refusal,
            Refusal::kNoCommonKernel);
  EXPECT_EQ(compare_runs({sample_run({}, {})}, {good}).refusal, Refusal::kNoSteps);
}

TEST(CompareRuns, FewStepsGetMeansAndNoVerdict) {
  Comparison const comparison = compare_runs({plain_sample(steps_about(2000, 1), 1000)},
                                             {plain_sample({3000, 3010, 3005}, 1000)});
  EXPECT_EQ(comparison.verdict, Verdict::kUnclear);
  EXPECT_TRUE(has_caveat(comparison, Caveat::kFewSteps));
  EXPECT_EQ(comparison.candidate.mean_ns, 3005);
  expect_parts_sum_up(comparison);
}

TEST(CompareRuns, OtherConditionsAreReportedFirst) {
  RunMeasurements base = plain_sample(steps_about(2000, 1), 1000), candidate = base;
  base.device_names = {"A100"};
  candidate.device_names = {"H100"};
  base.facts = {{"driver", "550"}, {"cpu", "one"}};
  candidate.facts = {{"driver", "560"}, {"cpu", "one"}};
  base.busy_clock_mhz = 1980;
  candidate.busy_clock_mhz = 1700;
  base.copied_in_bytes = 1e6;
  candidate.copied_in_bytes = 2e6;
  for (double& ns : candidate.kernels[0].ns) ns *= 2;
  for (int64_t& number : candidate.steps) number += 100;

  std::vector<std::string> found;
  for (Difference const& difference : compare_runs({base}, {candidate}).differences)
    found.push_back(to_string(difference.condition) +
                    (difference.name.empty() ? "" : ":" + difference.name));
  EXPECT_THAT(found, testing::ElementsAre("device", "fact:driver", "clock_mhz", "copied_in_bytes",
                                          "steps"));

  candidate.busy_clock_mhz = 1975;
  EXPECT_EQ(compare_runs({base}, {candidate}).differences.size(), 4U);
}

TEST(CompareRuns, TheSameWorkIsNoOtherBatchWhateverIsCopied) {
  RunMeasurements base = plain_sample(steps_about(2000, 1), 1000), candidate = base;
  base.copied_in_bytes = 1e6;
  candidate.copied_in_bytes = 1.5e6;
  EXPECT_TRUE(compare_runs({base}, {candidate}).differences.empty());
  for (double& ns : candidate.kernels[0].ns) ns *= 1.06;
  ASSERT_EQ(compare_runs({base}, {candidate}).differences.size(), 1U);
  EXPECT_EQ(compare_runs({base}, {candidate}).differences[0].condition, Condition::kCopiedIn);
}

TEST(CompareRuns, RoundedPartsSumToTheRoundedWhole) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> any(-1e6, 1e6);
  for (int round = 0; round < (support::kSanitized ? 100 : 1000); ++round) {
    std::array<double, kChangePartCount> values{};
    double sum = 0;
    for (double& value : values) sum += value = any(random);
    int64_t const total = std::llround(sum);

    std::array<int64_t, kChangePartCount> const rounded = round_to_sum(values, total);
    EXPECT_EQ(std::accumulate(rounded.begin(), rounded.end(), int64_t{0}), total);
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(static_cast<double>(rounded[i]), values[i], 2);
  }

  std::array<double, kChangePartCount> zero{};
  zero[3] = -1e-12;
  EXPECT_EQ(round_to_sum(zero, 0), (std::array<int64_t, kChangePartCount>{}));
}

TEST(CompareRuns, UnchangedPairsOfSyntheticJobsRaiseNoAlarm) {
  std::vector<RunMeasurements> samples;
  for (uint32_t seed = 1; seed <= 12; ++seed) samples.push_back(sample_of(steady_job(), seed));

  size_t alarms = 0, metrics = 0;
  for (size_t i = 0; i < samples.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      for (Metric const& metric : compare_runs({samples[i]}, {samples[j]}).metrics) {
        ++metrics;
        alarms += metric.verdict == Verdict::kMore || metric.verdict == Verdict::kLess ? 1 : 0;
      }

  EXPECT_GT(metrics, 500U);
  EXPECT_EQ(alarms, 0U);
}

/// A job whose parts, kernels and collectives vary by `noise`, independently. Successive steps are
/// slightly correlated.
RunMeasurements noisy_sample(std::mt19937& random, double noise) {
  std::normal_distribution<double> normal;
  constexpr size_t kSteps = 20;
  auto const varied = [&](double mean) {
    return std::max(1.0, mean * (1 + noise * normal(random)));
  };

  RunMeasurements sample = plain_sample(std::vector<double>(kSteps, 0), 0);
  sample.kernels.clear();
  double wave = normal(random);
  for (char const* const name : {"gemm", "norm", "softmax"}) {
    sample.kernel_names.insert(name);
    RunMeasurements::Kernel& kernel =
        sample.kernels.emplace_back(RunMeasurements::Kernel{name, {}, {}});
    for (size_t s = 0; s < kSteps; ++s) {
      kernel.calls.push_back(10);
      kernel.ns.push_back(varied(3e6));
    }
  }

  sample.collectives.push_back({model::CollectiveOp::kAllReduce, 1 << 20, {}, 1, 0});
  for (size_t s = 0; s < kSteps; ++s) {
    wave = 0.3 * wave + std::sqrt(1 - 0.3 * 0.3) * normal(random);
    sample.step_ns[s] = 0;
    for (size_t p = 0; p < kStepPartCount; ++p)
      sample.parts_ns[p][s] = varied(p == 0 ? 9e6 * (1 + noise * wave / 3) : 1e6);
    for (auto const& part : sample.parts_ns) sample.step_ns[s] += part[s];
    sample.collectives[0].transfer_ns.push_back(varied(5e5));
    sample.allocated_bytes.push_back(1e9);
  }
  return sample;
}

TEST(CompareRuns, FiveOf1000UnchangedPairsAtMostAreTakenForChangedByAnyMetric) {
  for (double const noise : {0.01, 0.05, 0.2}) {
    std::mt19937 random(99);
    std::map<std::string, int> alarms;
    for (int pair = 0; pair < (support::kSanitized ? 40 : 1000); ++pair) {
      RunMeasurements const base = noisy_sample(random, noise);
      for (Metric const& metric : compare_runs({base}, {noisy_sample(random, noise)}).metrics)
        alarms[metric.name] +=
            metric.verdict == Verdict::kMore || metric.verdict == Verdict::kLess ? 1 : 0;
    }

    EXPECT_EQ(alarms.size(), 1 + kStepPartCount + 1 + 3 + 1);
    for (auto const& [name, count] : alarms)
      EXPECT_LE(count, 5) << name << " at a noise of " << noise;
  }
}

}  // namespace
}  // namespace stepscope::analyzer
