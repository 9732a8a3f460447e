#include "viewer/queries/step_comparison.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/viewer/scenes.h"

namespace stepscope::viewer {
namespace {

Scene const& uneven() {
  static Scene const kScene =
      synthetic_scene({.devices = 2, .steps = 11, .input_delay_ns = 9'000'000});
  return kScene;
}

TEST(MedianStep, HasAsManyShorterAsLongerOnes) {
  auto const steps = steps_of(uneven(), 0);
  auto const* const median = median_step(steps);
  ASSERT_NE(median, nullptr);
  EXPECT_FALSE(median->warmup);

  auto const counted =
      std::count_if(steps.begin(), steps.end(), [](auto const& step) { return !step.warmup; });
  auto const shorter = std::count_if(steps.begin(), steps.end(), [&](auto const& step) {
    return !step.warmup && step.time.window_ns < median->time.window_ns;
  });
  auto const longer = std::count_if(steps.begin(), steps.end(), [&](auto const& step) {
    return !step.warmup && step.time.window_ns > median->time.window_ns;
  });

  EXPECT_LE(shorter, (counted - 1) / 2);
  EXPECT_LE(longer, counted / 2);
}

TEST(MedianStep, OfNoStepsIsNone) {
  EXPECT_EQ(median_step({}), nullptr);
  EXPECT_TRUE(steps_of(uneven(), 77).empty());
}

TEST(StepComparison, ChangesOfThePartsAreTheChangeOfTheLength) {
  for (uint32_t i = 0; i < uneven().analysis.steps.size(); ++i) {
    auto const compared = compare_with_median(uneven(), i);
    ASSERT_TRUE(compared);
    EXPECT_EQ(compared->step->step, &uneven().analysis.steps[i]);
    EXPECT_EQ(compared->median->step->ref, compared->step->step->ref);
    int64_t change = 0;
    for (auto const& part : compared->parts) change += part.change_ns();
    EXPECT_EQ(change, compared->step->when.length() - compared->median->when.length());
  }
}

TEST(StepComparison, OfTheMedianItselfHasNoChange) {
  auto const* const median = median_period(step_bars(uneven(), 1).steps);
  auto const compared =
      compare_with_median(uneven(), static_cast<uint32_t>(median - uneven().periods.data()));
  ASSERT_TRUE(compared);
  EXPECT_FALSE(compared->parts.empty());
  for (auto const& part : compared->parts) EXPECT_EQ(part.change_ns(), 0);
}

TEST(StepComparison, OfAStepThatIsNotThereIsNone) {
  EXPECT_FALSE(compare_with_median(uneven(), 1'000'000));
}

/// The bars of a single step show which rank took longest.
TEST(StepBars, OfOneStepAreItsDevices) {
  Scene const one = synthetic_scene({.devices = 3, .steps = 1, .process_per_device = true});
  StepBars const bars = step_bars(one, 0);
  EXPECT_TRUE(bars.is_one_step);
  EXPECT_EQ(bars.steps.size(), 3U);

  Scene const many = synthetic_scene({.devices = 3, .steps = 4, .process_per_device = true});
  EXPECT_FALSE(step_bars(many, 1).is_one_step);
  EXPECT_EQ(step_bars(many, 1).steps.size(), 4U);

  Scene const alone = synthetic_scene({.devices = 1, .steps = 1});
  EXPECT_FALSE(step_bars(alone, 0).is_one_step);
  EXPECT_EQ(step_bars(alone, 0).steps.size(), 1U);
  EXPECT_TRUE(step_bars(Scene(), 0).steps.empty());
}

}  // namespace
}  // namespace stepscope::viewer
