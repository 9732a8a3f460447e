// Models and the replayed curve of a series: the numbers and words of the report.
#include "viewer/comparison/scaling_curves.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/words/runs/replayed_curve_words.h"
#include "tests/unit/viewer/comparison/scaling_scenes.h"
#include "viewer/comparison/scaling_view.h"
#include "viewer/loading/curve_task.h"

namespace stepscope::viewer {
namespace {

using analyzer::ScalingSeries;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

ScalingSeries measured_series() {
  return scaling_view(samples_of(*scaling_series()), {}, SayScaling::kFound).series;
}

/// A replay of the run on four devices, 2 % off for two.
ScalingSeries predicted_series() {
  ScalingSeries series = measured_series();
  double const step = series.points.back().step_ns.value;
  analyzer::ReplayedCurve& curve = series.replayed.emplace();
  curve.base_devices = 4;
  for (uint64_t const devices : {1, 2, 4, 8, 16, 32})
    curve.points.push_back({devices, {step, 0.9 * step, 1.1 * step}, {}});
  curve.points[1].error = 0.02;
  return series;
}

TEST(ScalingCurves, WithoutAReplayModelsEndAtTheMostDevices) {
  ScalingSeries const series = measured_series();
  std::vector<ScalingCurve> const curves = scaling_curves(series);
  ASSERT_EQ(curves.size(), series.fits.fits.size());
  ASSERT_FALSE(curves.empty());

  for (ScalingCurve const& curve : curves) {
    EXPECT_FALSE(curve.is_replay);
    EXPECT_FALSE(curve.label.empty());
    EXPECT_NEAR(curve.points.front().devices, 1, 1e-9);
    EXPECT_NEAR(curve.points.back().devices, 4, 1e-9);
  }
  EXPECT_THAT(predicted_sizes(series), IsEmpty());
}

TEST(ScalingCurves, TheReplayHasTheNumbersOfTheReport) {
  ScalingSeries const series = predicted_series();
  std::vector<ScalingCurve> const curves = scaling_curves(series);
  ScalingCurve const& replay = curves.back();
  ASSERT_TRUE(replay.is_replay);
  EXPECT_EQ(replay.label, reports::replayed_curve_label(*series.replayed));
  EXPECT_EQ(replay.hint, reports::replayed_curve_text(series));

  // Four times the devices that were measured are drawn.
  ASSERT_EQ(replay.points.size(), 5U);
  for (size_t i = 0; i < replay.points.size(); ++i)
    EXPECT_EQ(replay.points[i].throughput.value,
              reports::replayed_throughput(series, series.replayed->points[i]).value);
  EXPECT_NEAR(curves.front().points.back().devices, 16, 1e-9);
  EXPECT_THAT(predicted_sizes(series), ElementsAre(8, 16));
}

TEST(ScalingCurves, TooltipsHaveStepThroughputAndError) {
  ScalingSeries const series = predicted_series();
  std::vector<std::string> const measured = predicted_words(series, 2);
  ASSERT_EQ(measured.size(), 1 + series.fits.fits.size());
  EXPECT_THAT(measured[0], StartsWith("replay of 4 devices: step "));
  EXPECT_THAT(measured[0], HasSubstr("error +2.00 %"));

  std::vector<std::string> const beyond = predicted_words(series, 8);
  EXPECT_THAT(beyond[0], testing::Not(HasSubstr("error")));
  EXPECT_EQ(predicted_words(measured_series(), 8).size(), series.fits.fits.size());
}

TEST(ScalingCurves, ARefusedReplayIsNoLine) {
  ScalingSeries series = measured_series();
  series.replayed.emplace().refusal = analyzer::CurveRefusal::kPipeline;
  EXPECT_EQ(scaling_curves(series).size(), series.fits.fits.size());
  EXPECT_THAT(reports::replayed_curve_text(series), HasSubstr("stages of a pipeline"));
}

TEST(CurveTask, SaysWhichRunCannotBeRead) {
  CurveTask task(measured_series(), samples_of(*scaling_series()));
  task.finish();
  ASSERT_TRUE(task.is_done());
  auto const curve = task.take();
  ASSERT_FALSE(curve);
  EXPECT_THAT(curve.error().message, HasSubstr("/runs/n4"));
}

}  // namespace
}  // namespace stepscope::viewer
