// Scaling series: strong and weak scaling, efficiencies, factors whose product is the efficiency,
// lost time that sums to the ns, and series that are refused.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/scaling/mean_error.h"
#include "analyzer/scaling/series.h"
#include "tests/support/synthetic_run.h"

namespace stepscope::analyzer {
namespace {

using testing::ElementsAre;

constexpr double kScaledMs = 1e6;

/// A run of `devices` devices in which every part of the step is random; all parts sum to the step.
RunMeasurements random_sample(uint64_t devices, std::mt19937& random, size_t steps = 12) {
  std::uniform_real_distribution<double> part(0, kScaledMs);
  RunMeasurements sample;
  sample.name = "random";
  sample.devices = sample.processes = devices;
  sample.fed_devices = devices;
  sample.copied_in_bytes = 1000.0 * static_cast<double>(devices);
  sample.step_ns.assign(steps, 0);
  sample.parts_ns.assign(kStepPartCount, std::vector<double>(steps, 0));
  sample.kernels = {
      {"a", {}, {}}, {"b", {}, {}}, {devices % 2 == 0 ? "even" : "odd", {}, {}}, {"", {}, {}}};

  for (size_t s = 0; s < steps; ++s) {
    sample.steps.push_back(static_cast<int64_t>(s));
    for (auto& values : sample.parts_ns) {
      values[s] = std::round(part(random)) / static_cast<double>(devices);
      sample.step_ns[s] += values[s];
    }
    for (RunMeasurements::Kernel& kernel : sample.kernels) {
      kernel.ns.push_back(part(random) / 3);
      kernel.calls.push_back(std::floor(part(random) / kScaledMs * 5) + 1);
    }
  }

  for (RunMeasurements::Kernel const& kernel : sample.kernels)
    sample.kernel_names.insert(kernel.name);
  sample.late = {{0, 0, "compute", "", part(random)}, {1, 0, "launch_starved", "op", part(random)}};
  sample.host_ops = {{IdleCause::kInput, "loader", part(random)}};

  double const computed =
      std::accumulate(sample.parts_ns[0].begin(), sample.parts_ns[0].end(), 0.0);
  for (uint64_t d = 0; d < devices; ++d) {
    // Devices compute differently, on average as much as the parts say.
    double const share =
        devices == 1 ? 1 : 0.5 + static_cast<double>(d) / static_cast<double>(devices - 1);
    sample.device_times.push_back({computed * share, computed * share * 1.2});
  }
  return sample;
}

std::vector<RunMeasurements> random_runs(std::mt19937& random) {
  std::vector<RunMeasurements> runs;
  for (uint64_t const devices : {1U, 2U, 3U, 8U})
    for (int repeat = 0; repeat < 1 + static_cast<int>(devices % 3); ++repeat)
      runs.push_back(random_sample(devices, random));
  return runs;
}

TEST(ScalingSeries, LostTimeSumsToTheNsWhateverTheRuns) {
  std::mt19937 random(3);
  for (int round = 0; round < 15; ++round)
    for (ScalingKind const kind : {ScalingKind::kStrong, ScalingKind::kWeak}) {
      ScalingSeries const series = scale_series(random_runs(random), {kind, {}});
      ASSERT_FALSE(series.refusal);
      ASSERT_EQ(series.losses.size(), 5U);  // 1 to 2, 3 and 8, 2 to 3, 3 to 8
      for (LostTime const& loss : series.losses) {
        EXPECT_EQ(std::accumulate(loss.parts_ns.begin(), loss.parts_ns.end(), int64_t{0}),
                  loss.step_ns - loss.ideal_ns);

        ScalingPoint const &from = series.points[loss.from], &to = series.points[loss.to];
        double const ideal = kind == ScalingKind::kStrong ? static_cast<double>(from.devices) /
                                                                static_cast<double>(to.devices)
                                                          : 1;
        EXPECT_NEAR(static_cast<double>(loss.ideal_ns), ideal * from.step_ns.value, 0.51);
        EXPECT_NEAR(static_cast<double>(loss.step_ns), to.step_ns.value, 0.51);

        auto const part = [&](LostPart of) {
          return static_cast<double>(loss.parts_ns[static_cast<size_t>(of)]);
        };
        auto const grown = [&](StepPart of) {
          return to.parts_ns[static_cast<size_t>(of)] -
                 ideal * from.parts_ns[static_cast<size_t>(of)];
        };

        EXPECT_NEAR(part(LostPart::kCommunication), grown(StepPart::kCommunication), 1.5);
        EXPECT_NEAR(part(LostPart::kWaiting) + part(LostPart::kImbalance),
                    grown(StepPart::kWaiting) + grown(idle_part(IdleCause::kPeer)), 3);
        EXPECT_NEAR(part(LostPart::kKernels) + part(LostPart::kCalls) +
                        part(LostPart::kOtherKernels) + part(LostPart::kOverlap),
                    grown(StepPart::kCompute), 6);
      }
    }
}

TEST(ScalingSeries, FactorsMultiplyToTheParallelEfficiencyAndToTheEfficiency) {
  std::mt19937 random(4);
  for (int round = 0; round < 15; ++round)
    for (ScalingKind const kind : {ScalingKind::kStrong, ScalingKind::kWeak}) {
      std::vector<RunMeasurements> const runs = random_runs(random);
      ScalingSeries const series = scale_series(runs, {kind, {}});
      for (ScalingPoint const& point : series.points) {
        double product = 1, useful = 0, elapsed = 0;
        for (auto const factor : {ScalingFactor::kLoadBalance, ScalingFactor::kCommunication,
                                  ScalingFactor::kOrchestration})
          product *= point.factors.of(factor);

        for (RunMeasurements const& run : runs) {
          if (run.devices != point.devices) continue;
          for (RunMeasurements::DeviceTime const& device : run.device_times)
            useful += device.compute_ns;
          elapsed += static_cast<double>(run.devices) *
                     std::accumulate(run.step_ns.begin(), run.step_ns.end(), 0.0);
        }

        EXPECT_NEAR(point.factors.parallel, useful / elapsed, 1e-12);
        EXPECT_NEAR(product, point.factors.parallel, 1e-12);
        EXPECT_NEAR(point.factors.efficiency_over(series.points[0].factors), point.efficiency.value,
                    1e-12);
      }
    }
}

/// A run whose step takes `step`: devices compute for `compute` and wait for each other in the
/// rest.
RunMeasurements plain_run(uint64_t devices, double step, double compute,
                          double bytes_per_device = 1000, uint32_t seed = 1) {
  std::mt19937 random(seed);
  RunMeasurements sample = random_sample(devices, random);
  std::normal_distribution<double> noise(1, 0.002);
  for (auto& values : sample.parts_ns) std::fill(values.begin(), values.end(), 0.0);

  for (size_t s = 0; s < sample.steps.size(); ++s) {
    sample.step_ns[s] = step * noise(random);
    sample.parts_ns[static_cast<size_t>(StepPart::kCompute)][s] = compute;
    sample.parts_ns[static_cast<size_t>(StepPart::kCommunication)][s] = sample.step_ns[s] - compute;
  }

  auto const steps = static_cast<double>(sample.steps.size());
  sample.kernels = {{"gemm", std::vector<double>(sample.steps.size(), compute),
                     std::vector<double>(sample.steps.size(), 4)}};
  sample.kernel_names = {"gemm"};

  for (RunMeasurements::DeviceTime& device : sample.device_times)
    device = {compute * steps, step * steps};
  sample.copied_in_bytes = bytes_per_device * static_cast<double>(devices);
  sample.all_steps_ns = sample.steady_steps_ns = step;
  sample.late.clear();
  return sample;
}

TEST(ScalingSeries, BytesThatAreCopiedInDistinguishStrongFromWeak) {
  ScalingSeries const weak = scale_series(
      {plain_run(1, 10 * kScaledMs, 9 * kScaledMs), plain_run(4, 12 * kScaledMs, 9 * kScaledMs)});
  EXPECT_EQ(weak.kind.kind, ScalingKind::kWeak);
  EXPECT_EQ(weak.kind.evidence, KindEvidence::kCopiedIn);
  EXPECT_NEAR(weak.points[1].efficiency.value, 10.0 / 12, 0.01);
  EXPECT_NEAR(weak.points[1].speedup.value, 40.0 / 12, 0.04);
  EXPECT_NEAR(weak.points[1].throughput.value, 4 / 12e-3, 3);

  ScalingSeries const strong = scale_series({plain_run(1, 10 * kScaledMs, 9 * kScaledMs),
                                             plain_run(4, 4 * kScaledMs, 2.3 * kScaledMs, 250)});
  EXPECT_EQ(strong.kind.kind, ScalingKind::kStrong);
  EXPECT_NEAR(strong.points[1].efficiency.value, 10.0 / 16, 0.01);
  EXPECT_NEAR(strong.points[1].throughput.value, 1 / 4e-3, 2);
  EXPECT_NEAR(strong.points[1].factors.of(ScalingFactor::kComputation), 9.0 / 4 / 2.3, 1e-9);
}

TEST(ScalingSeries, ABatchThatIsCopiedAheadMakesNoOtherBatch) {
  // 12 steps: one batch more in 12 is 8 %.
  ScalingSeries const weak = scale_series({plain_run(1, 10 * kScaledMs, 9 * kScaledMs),
                                           plain_run(4, 12 * kScaledMs, 9 * kScaledMs, 1083)});
  EXPECT_EQ(weak.kind.kind, ScalingKind::kWeak);
  EXPECT_EQ(weak.kind.evidence, KindEvidence::kCopiedIn);
  EXPECT_EQ(scale_series({plain_run(1, 10 * kScaledMs, 9 * kScaledMs),
                          plain_run(4, 12 * kScaledMs, 9 * kScaledMs, 1110)})
                .refusal,
            SeriesRefusal::kKindUnclear);
}

TEST(ScalingSeries, KernelsDecideWhereNotAllDevicesAreFed) {
  auto const unfed = [](RunMeasurements sample) {
    sample.fed_devices = 0;
    sample.copied_in_bytes = 0;
    return sample;
  };

  ScalingSeries const strong = scale_series({unfed(plain_run(1, 10 * kScaledMs, 9 * kScaledMs)),
                                             unfed(plain_run(4, 4 * kScaledMs, 2.6 * kScaledMs))});
  EXPECT_EQ(strong.kind.kind, ScalingKind::kStrong);
  EXPECT_EQ(strong.kind.evidence, KindEvidence::kKernels);

  ScalingSeries const weak = scale_series({unfed(plain_run(2, 10 * kScaledMs, 9 * kScaledMs)),
                                           unfed(plain_run(8, 14 * kScaledMs, 10 * kScaledMs))});
  EXPECT_EQ(weak.kind.kind, ScalingKind::kWeak);
  EXPECT_EQ(scale_series({unfed(plain_run(1, 10 * kScaledMs, 8 * kScaledMs)),
                          unfed(plain_run(4, 10 * kScaledMs, 4 * kScaledMs))})
                .refusal,
            SeriesRefusal::kKindUnclear);
}

TEST(ScalingSeries, AnotherBatchIsRefusedUnlessTheKindIsGiven) {
  std::vector<RunMeasurements> const runs = {plain_run(1, 10 * kScaledMs, 9 * kScaledMs),
                                             plain_run(4, 12 * kScaledMs, 9 * kScaledMs, 700)};
  ScalingSeries const refused = scale_series(runs);
  EXPECT_EQ(refused.refusal, SeriesRefusal::kKindUnclear);
  EXPECT_EQ(refused.points.size(), 2U);
  ScalingSeries const requested = scale_series(runs, {ScalingKind::kWeak, {}});
  EXPECT_FALSE(requested.refusal);
  EXPECT_EQ(requested.kind.evidence, KindEvidence::kAsked);
}

TEST(ScalingSeries, WhatIsNoSeriesIsRefused) {
  EXPECT_EQ(scale_series({plain_run(2, kScaledMs, kScaledMs), plain_run(2, kScaledMs, kScaledMs)})
                .refusal,
            SeriesRefusal::kOneSize);
  EXPECT_EQ(scale_series({}).refusal, SeriesRefusal::kOneSize);

  RunMeasurements other = plain_run(4, kScaledMs, kScaledMs);
  other.kernels[0].name = "other";
  other.kernel_names = {"other"};
  other.name = "of another program";
  ScalingSeries const refused = scale_series({plain_run(1, kScaledMs, kScaledMs), other});
  EXPECT_EQ(refused.refusal, SeriesRefusal::kNoCommonKernel);
  EXPECT_EQ(refused.refused_run, "of another program");

  EXPECT_EQ(scale_series({plain_run(1, kScaledMs, kScaledMs), RunMeasurements{}}).refusal,
            SeriesRefusal::kNoSteps);
  EXPECT_EQ(scale_series({plain_run(1, kScaledMs, kScaledMs), plain_run(2, 0, 0)}).refusal,
            SeriesRefusal::kNoSteps);
}

TEST(ScalingSeries, RepeatsOfANumberOfDevicesAreValuesOfItsErrorBar) {
  ScalingSeries const series = scale_series({plain_run(1, 10 * kScaledMs, 9 * kScaledMs, 1000, 1),
                                             plain_run(1, 10.4 * kScaledMs, 9 * kScaledMs, 1000, 2),
                                             plain_run(1, 9.6 * kScaledMs, 9 * kScaledMs, 1000, 3),
                                             plain_run(2, 11 * kScaledMs, 9 * kScaledMs, 1000, 4)});

  ASSERT_EQ(series.points.size(), 2U);
  EXPECT_EQ(series.points[0].runs.size(), 3U);

  // The error bar of 10.0, 10.4 and 9.6 ms: t(0.975, 2) · 0.4 / √3.
  EXPECT_NEAR((*series.points[0].step_ns.high - *series.points[0].step_ns.low) / 2,
              4.302653 * 0.4 / std::sqrt(3) * kScaledMs, 0.1 * kScaledMs);
  EXPECT_NEAR((*series.points[1].step_ns.high - *series.points[1].step_ns.low) / 2,
              0.014 * kScaledMs, 0.012 * kScaledMs);

  ASSERT_FALSE(series.caveats.empty());
  EXPECT_EQ(series.caveats.back().caveat, SeriesCaveat::kOneRun);
  EXPECT_THAT(series.caveats.back().devices, ElementsAre(2));
}

/// 95 % of the intervals of pairs with a known ratio cover it.
TEST(ScalingSeries, IntervalsOfRatiosCoverTheRatio) {
  std::mt19937 random(5);
  std::normal_distribution<double> noise(1, 0.05);
  int covered = 0;
  constexpr int kRounds = 2000;

  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::vector<double>> base, candidate;
    for (int run = 0; run < 4; ++run) {
      base.push_back({10 * noise(random)});
      candidate.push_back({16 * noise(random)});
    }
    Estimate const ratio = ratio_of(mean_error(base), mean_error(candidate), 1);
    covered += *ratio.low <= 10.0 / 16 && 10.0 / 16 <= *ratio.high ? 1 : 0;
  }

  EXPECT_NEAR(static_cast<double>(covered) / kRounds, 0.95, 0.02);
}

TEST(ScalingSeries, ASingleStepHasNoErrorBar) {
  RunMeasurements one = plain_run(2, 11 * kScaledMs, 9 * kScaledMs);
  one.steps.resize(1);
  one.step_ns.resize(1);
  for (auto& part : one.parts_ns) part.resize(1);
  for (RunMeasurements::Kernel& kernel : one.kernels) {
    kernel.ns.resize(1);
    kernel.calls.resize(1);
  }

  ScalingSeries const series = scale_series({plain_run(1, 10 * kScaledMs, 9 * kScaledMs), one});
  ASSERT_FALSE(series.refusal);
  EXPECT_FALSE(series.points[1].step_ns.low);
  EXPECT_FALSE(series.points[1].efficiency.low);
  EXPECT_TRUE(std::any_of(series.caveats.begin(), series.caveats.end(), [](auto const& facts) {
    return facts.caveat == SeriesCaveat::kOneStep;
  }));
}

TEST(ScalingSeries, MoreThanIdealIsReported) {
  ScalingSeries const series = scale_series(
      {plain_run(1, 10 * kScaledMs, 9 * kScaledMs), plain_run(2, 8 * kScaledMs, 7.5 * kScaledMs)});
  EXPECT_TRUE(std::any_of(series.caveats.begin(), series.caveats.end(), [](auto const& facts) {
    return facts.caveat == SeriesCaveat::kSuperlinear;
  }));
}

TEST(ScalingSeries, DevicesThatAreNumberedAreNoDifferentOnes) {
  RunMeasurements one = plain_run(1, 10 * kScaledMs, 9 * kScaledMs),
                  two = plain_run(2, 10 * kScaledMs, 9 * kScaledMs);
  one.device_names = {"host:0"};
  two.device_names = {"host:0", "host:1"};
  EXPECT_TRUE(scale_series({one, two}).differences.empty());
  two.device_names = {"H100", "host:0"};
  EXPECT_EQ(scale_series({one, two}).differences.size(), 1U);
}

TEST(ScalingSeries, MissingRanksCountAsDevices) {
  RunMeasurements broken = plain_run(3, 12 * kScaledMs, 9 * kScaledMs);
  broken.missing_ranks = {3};
  EXPECT_EQ(devices_of(broken), 4U);
  ScalingSeries const series =
      scale_series({plain_run(1, 10 * kScaledMs, 9 * kScaledMs), broken}, {ScalingKind::kWeak, {}});
  EXPECT_EQ(series.points.back().devices, 4U);
  EXPECT_EQ(series.caveats.front().caveat, SeriesCaveat::kMissingRanks);
}

TEST(ScalingSeries, TheFactorThatBreaksFirstIsNamedWhereTheEfficiencyFalls) {
  // 1 and 2 devices are alike; on 4 the devices communicate, on 8 they compute longer, too.
  ScalingSeries const series = scale_series(
      {plain_run(1, 10 * kScaledMs, 9 * kScaledMs), plain_run(2, 10.1 * kScaledMs, 9 * kScaledMs),
       plain_run(4, 12 * kScaledMs, 9 * kScaledMs), plain_run(8, 24 * kScaledMs, 18 * kScaledMs)});

  ASSERT_TRUE(series.broken);
  EXPECT_EQ(series.broken->factor, ScalingFactor::kCommunication);
  EXPECT_EQ(series.points[series.broken->point].devices, 4U);
  EXPECT_NEAR(series.broken->before, 0.9, 0.01);
  EXPECT_NEAR(series.broken->here, 0.75, 0.01);

  EXPECT_FALSE(scale_series({plain_run(1, 10 * kScaledMs, 9 * kScaledMs),
                             plain_run(2, 10.1 * kScaledMs, 9 * kScaledMs)})
                   .broken);
}

TEST(ScalingSeries, KernelsGrowByTheirExponent) {
  std::vector<RunMeasurements> runs;
  for (uint64_t const devices : {1U, 2U, 4U}) {
    RunMeasurements run = plain_run(devices, 10 * kScaledMs, 9 * kScaledMs);
    auto const n = static_cast<double>(devices);
    size_t const steps = run.steps.size();
    run.kernels.push_back({"grows", std::vector<double>(steps, kScaledMs * std::sqrt(n)),
                           std::vector<double>(steps, 2)});
    if (devices > 1)
      run.kernels.push_back(
          {"reduces", std::vector<double>(steps, 1000 * n), std::vector<double>(steps, 1)});
    run.kernels.push_back({"", std::vector<double>(steps, 500), std::vector<double>(steps, 9)});
    for (RunMeasurements::Kernel const& kernel : run.kernels) run.kernel_names.insert(kernel.name);
    runs.push_back(std::move(run));
  }

  ScalingSeries const series = scale_series(std::move(runs));
  ASSERT_EQ(series.kernels.size(), 4U);
  EXPECT_EQ(series.kernels[0].name, "grows");
  EXPECT_NEAR(*series.kernels[0].exponent, 0.5, 1e-9);
  EXPECT_NEAR(series.kernels[0].lost_ns, kScaledMs, 1e-3);

  EXPECT_EQ(series.kernels[2].name, "reduces");
  EXPECT_FALSE(series.kernels[2].ns[0]);
  EXPECT_NEAR(*series.kernels[2].exponent, 1, 1e-9);
  EXPECT_EQ(series.kernels[2].lost_ns, 0);
  EXPECT_EQ(series.kernels[3].name, "");
  EXPECT_NEAR(*series.kernels[3].ns[1], 500, 1e-9);
}

/// From traces to losses: the useful time of devices is the compute part of their steps.
TEST(ScalingSeries, OfSyntheticRunsIsWeakAndLosesToCommunication) {
  std::vector<RunMeasurements> runs;
  for (int32_t const devices : {1, 2, 4}) {
    support::SyntheticOptions options;
    options.devices = devices;
    options.steps = 16;
    options.link_alpha_ns = devices == 1 ? 1000 : 600'000 * devices;
    model::Run const run = support::make_synthetic_run(options);
    runs.push_back(sample_run(run, analyze(run)));
    EXPECT_EQ(runs.back().device_times.size(), static_cast<size_t>(devices));

    double useful = 0, compute = 0;
    for (RunMeasurements::DeviceTime const& device : runs.back().device_times)
      useful += device.compute_ns;
    for (double const ns : runs.back().parts_ns[0]) compute += ns * devices;
    EXPECT_NEAR(useful, compute, 1);
  }

  ScalingSeries const series = scale_series(std::move(runs));
  ASSERT_FALSE(series.refusal);
  EXPECT_EQ(series.kind.kind, ScalingKind::kWeak);
  EXPECT_EQ(series.kind.evidence, KindEvidence::kCopiedIn);
  ASSERT_TRUE(series.broken);
  EXPECT_EQ(series.broken->factor, ScalingFactor::kCommunication);

  auto const& parts = series.losses[1].parts_ns;
  EXPECT_EQ(std::max_element(parts.begin(), parts.end()) - parts.begin(),
            static_cast<std::ptrdiff_t>(LostPart::kCommunication));
}

}  // namespace
}  // namespace stepscope::analyzer
