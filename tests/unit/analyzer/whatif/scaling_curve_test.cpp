// The curve of a series, predicted by replaying one of its runs: which run, which law, which
// errors, and why there may be none.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/whatif/scaling_curve.h"
#include "tests/unit/analyzer/made_ranks.h"
#include "tests/unit/analyzer/metrics/communication/made_pipeline.h"

namespace stepscope::analyzer {
namespace {

using testing::ElementsAre;

constexpr int64_t kComputeNs = 1'000'000;

/// In each step all ranks compute for as long and reduce once; their hosts wait for that.
model::Run made_job(int32_t ranks, int64_t compute_ns, int64_t transfer_ns) {
  testing_support::MadeRanks made(ranks);
  int64_t begin = 1'000'000;
  for (int64_t step = 0; step < 12; ++step) {
    int64_t const arrival = begin + compute_ns, end = arrival + transfer_ns;
    for (int32_t r = 0; r < ranks; ++r) {
      made.step(r, begin, end, step);
      made.kernel(r, begin, arrival, begin);
      made.collective(r, arrival, end, begin,
                      testing_support::all_reduce_of(r, ranks, static_cast<uint64_t>(step) + 1));
      made.host(r, model::EventKind::kSync, begin + 1, end, "wait",
                model::SyncDetail{model::SyncKind::kDevice, 0, -1});
    }
    begin = end;
  }

  return made.finish();
}

/// A ring's transfer of 100 µs · 2 (n − 1)/n.
model::Run ranks_of_ring(int32_t ranks, int64_t compute_ns = kComputeNs) {
  return made_job(ranks, compute_ns, 200'000 * (ranks - 1) / ranks);
}

struct MadeSeries {
  std::vector<model::Run> runs;
  std::vector<Analysis> analyses;
  std::vector<RunMeasurements> samples;
  ScalingSeries series;
};
MadeSeries series_of(std::vector<model::Run> runs, ScalingKind kind) {
  MadeSeries made;
  made.runs = std::move(runs);
  for (model::Run const& run : made.runs) {
    made.analyses.push_back(analyze(run));
    made.samples.push_back(sample_run(run, made.analyses.back()));
    made.samples.back().name = std::to_string(run.ranks.size());
  }

  made.series = scale_series(made.samples, {kind, {}});
  EXPECT_FALSE(made.series.refusal);
  return made;
}

ReplayedCurve curve_of(MadeSeries const& made, size_t base) {
  auto const ask = [&](WhatIfQuestion const& question) -> base::Expected<WhatIfStats> {
    return what_if(made.runs[base], made.analyses[base], question);
  };
  auto const curve =
      predict_curve({made.series, made.samples, made.samples[base], made.analyses[base]}, ask);
  EXPECT_TRUE(curve);
  return curve ? *curve : ReplayedCurve{};
}

std::map<uint64_t, double> step_us(ReplayedCurve const& curve) {
  std::map<uint64_t, double> steps;
  for (ReplayedPoint const& point : curve.points) steps[point.devices] = point.step_ns.value / 1e3;
  return steps;
}

TEST(ScalingCurve, RingsOfOtherNumbersOfRanksArePredicted) {
  std::vector<model::Run> runs;
  for (int32_t const ranks : {2, 4, 8}) runs.push_back(ranks_of_ring(ranks));
  MadeSeries const made = series_of(std::move(runs), ScalingKind::kWeak);

  ReplayedCurve const curve = curve_of(made, 2);
  ASSERT_FALSE(curve.refusal);
  EXPECT_EQ(curve.base_devices, 8U);
  EXPECT_EQ(curve.base_run, "8");
  EXPECT_TRUE(curve.is_law_measured);
  EXPECT_EQ(curve.law, CollectiveLaw::kRing);
  ASSERT_TRUE(curve.worst_error());
  EXPECT_LT(*curve.worst_error(), 0.01);

  // Up to 16 times the most devices, each step in its own interval.
  auto const steps = step_us(curve);
  EXPECT_NEAR(steps.at(128), 1000 + 200 * 127.0 / 128, 5);
  for (ReplayedPoint const& point : curve.points) {
    EXPECT_EQ(point.error.has_value(), point.devices == 2 || point.devices == 4);
    EXPECT_LE(*point.step_ns.low, point.step_ns.value);
    EXPECT_GE(*point.step_ns.high, point.step_ns.value);
  }
}

TEST(ScalingCurve, TransfersThatDoNotFollowARingAreATrees) {
  std::vector<model::Run> runs;
  for (int32_t const ranks : {2, 4, 8}) runs.push_back(made_job(ranks, kComputeNs, 100'000));
  MadeSeries const made = series_of(std::move(runs), ScalingKind::kWeak);
  EXPECT_EQ(curve_of(made, 2).law, CollectiveLaw::kTree);
}

TEST(ScalingCurve, TheRunsOfAStrongSeriesAreEachOthersProbes) {
  // Kernels take 200 µs and their share of 1,600 µs.
  std::vector<model::Run> runs;
  for (int32_t const ranks : {2, 4, 8})
    runs.push_back(ranks_of_ring(ranks, 200'000 + 1'600'000 / ranks));
  MadeSeries const made = series_of(std::move(runs), ScalingKind::kStrong);

  ReplayedCurve const curve = curve_of(made, 2);
  ASSERT_FALSE(curve.refusal);
  EXPECT_EQ(curve.probe_devices, 2U);
  EXPECT_LT(*curve.worst_error(), 0.02);
}

TEST(ScalingCurve, TheLargestRunsAreReplayedFirst) {
  std::vector<RunMeasurements> samples(5);
  for (size_t i = 0; i < samples.size(); ++i)
    samples[i].devices = std::array<uint64_t, 5>{4, 1, 8, 4, 2}[i];
  EXPECT_THAT(runs_to_replay(samples), ElementsAre(2, 0, 4));
}

TEST(ScalingCurve, ACurveWithoutARefusalAndWithTheSmallerErrorIsBetter) {
  ReplayedCurve good, fair, none;
  good.base_devices = 2;
  good.base_error = -0.01;
  fair.base_devices = 4;
  fair.base_error = 0.04;
  none.refusal = CurveRefusal::kFidelity;
  EXPECT_TRUE(is_trusted(good));
  EXPECT_FALSE(is_trusted(fair));
  EXPECT_FALSE(is_trusted(none));

  EXPECT_EQ(better_curve(fair, good).base_devices, 2U);
  EXPECT_EQ(better_curve(good, fair).base_devices, 2U);
  EXPECT_EQ(better_curve(none, fair).base_devices, 4U);
  EXPECT_EQ(better_curve(fair, none).base_devices, 4U);
}

TEST(ScalingCurve, StagesOfAPipelineAreNoRanks) {
  testing_support::MadePipeline two, four;
  two.stages = 2;
  std::vector<model::Run> runs;
  runs.push_back(two.make());
  runs.push_back(four.make());
  MadeSeries const made = series_of(std::move(runs), ScalingKind::kWeak);
  EXPECT_EQ(curve_of(made, 1).refusal, CurveRefusal::kPipeline);
}

}  // namespace
}  // namespace stepscope::analyzer
