// A scaling series as the viewer shows it: waterfalls that lead from the ideal step to the measured
// one, words, and refusals.
#include "viewer/comparison/scaling_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/viewer/comparison/scaling_scenes.h"

namespace stepscope::viewer {
namespace {

using testing::HasSubstr;

ScalingView const& three_sizes() {
  static ScalingView const kView =
      scaling_view(samples_of(*scaling_series()), {}, SayScaling::kFound);
  return kView;
}

TEST(ScalingView, WaterfallsLeadFromTheIdealStepToTheMeasuredOneToTheNs) {
  ScalingView const& view = three_sizes();
  ASSERT_TRUE(view.refusal.empty()) << view.refusal;
  ASSERT_EQ(view.waterfalls.size(), view.series.losses.size());

  for (size_t i = 0; i < view.waterfalls.size(); ++i) {
    ScalingView::Waterfall const& waterfall = view.waterfalls[i];
    int64_t at = view.series.losses[i].ideal_ns;
    for (ScalingView::Bar const& bar : waterfall.bars) {
      EXPECT_EQ(bar.begin_ns, at);
      EXPECT_EQ(bar.lost_ns, view.series.losses[i].parts_ns[static_cast<size_t>(bar.part)]);
      EXPECT_NE(bar.lost_ns, 0);
      EXPECT_FALSE(bar.label.empty());
      at += bar.lost_ns;
      EXPECT_EQ(bar.end_ns, at);
      EXPECT_LE(waterfall.least_ns, at);
      EXPECT_GE(waterfall.most_ns, at);
    }
    EXPECT_EQ(at, view.series.losses[i].step_ns);
  }
}

TEST(ScalingView, NamesThePairsAndFindsThemByTheirPoint) {
  ScalingView const& view = three_sizes();
  EXPECT_EQ(view.waterfalls[view.whole()].pair, "1 → 4 devices");
  ASSERT_TRUE(view.to_point(1));
  EXPECT_EQ(view.waterfalls[*view.to_point(1)].pair, "1 → 2 devices");
  EXPECT_EQ(view.to_point(2), view.whole());
  EXPECT_FALSE(view.to_point(0));
}

TEST(ScalingView, SaysWhatBrokeFirst) {
  ScalingView const& view = three_sizes();
  ASSERT_TRUE(view.series.broken);
  EXPECT_THAT(view.verdict, HasSubstr("broke first"));
  EXPECT_THAT(view.notes, testing::Contains(HasSubstr("Weak scaling")));
}

TEST(ScalingView, APersonCanSayWhatItIs) {
  ScalingView const view = scaling_view(samples_of(*scaling_series()), {}, SayScaling::kStrong);
  EXPECT_TRUE(view.series.is_strong());
}

TEST(ScalingView, SaysWhyThereIsNoSeries) {
  EXPECT_THAT(scaling_view(samples_of(*scaling_series({2})), {}, SayScaling::kFound).refusal,
              HasSubstr("different numbers"));
  EXPECT_FALSE(scaling_view({}, {}, SayScaling::kFound).refusal.empty());
}

}  // namespace
}  // namespace stepscope::viewer
