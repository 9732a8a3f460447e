// Which steps of two runs belong together. The aligned step begins at the same place in both,
// whichever run a person moves.
#include "viewer/comparison/step_alignment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <random>
#include <utility>

#include "tests/unit/viewer/scenes.h"
#include "viewer/timeline/layout.h"

namespace stepscope::viewer {
namespace {

Scene const& fast_run() {
  static Scene const kScene = synthetic_scene({.devices = 2, .steps = 12});
  return kScene;
}
Scene const& slow_run() {
  static Scene const kScene = synthetic_scene(
      {.devices = 2, .steps = 15, .forward_ns = 1'500'000, .origin_ns = 777'000'000});
  return kScene;
}
Scene const& run_without_steps() {
  static Scene const kScene = scene_of([](model::TraceBuilder& builder) {
    builder.events(add_stream(builder))
        .add(model::EventKind::kKernel, 5, 100, builder.intern("k"), 0, model::KernelDetail{});
  });
  return kScene;
}

/// The other run's window when `side` is moved to `window`.
TimeWindow other_window(StepAlignment const& alignment, std::optional<uint32_t> aligned,
                        RunSide side, TimeWindow window) {
  double const by = shift_at(alignment, aligned) * (side == RunSide::kBase ? 1 : -1);
  return {window.begin + by, window.end + by};
}

double place_in(int64_t time, TimeWindow window) {
  return (static_cast<double>(time) - window.begin) / window.span();
}

bool is_seen(StepAlignment::Pair const& pair, TimeWindow base, TimeWindow candidate) {
  auto const overlaps = [](int64_t begin, int64_t end, TimeWindow window) {
    return static_cast<double>(begin)<window.end&& static_cast<double>(end)> window.begin;
  };
  return overlaps(pair.base_begin, pair.base_end, base) ||
         overlaps(pair.candidate_begin, pair.candidate_end, candidate);
}

TEST(AlignSteps, PairsThemByNumberAndCountsTheOthers) {
  StepAlignment const alignment = align_steps(fast_run(), slow_run());
  EXPECT_EQ(alignment.by, StepAlignment::By::kNumber);
  ASSERT_EQ(alignment.pairs.size(), 12U);
  EXPECT_EQ(alignment.base_alone, 0U);
  EXPECT_EQ(alignment.candidate_alone, 3U);

  for (auto const& pair : alignment.pairs) {
    EXPECT_EQ(pair.base_number, pair.candidate_number);
    EXPECT_EQ(fast_run().analysis.steps[pair.base_step].step, pair.base_number);
    EXPECT_EQ(slow_run().analysis.steps[pair.candidate_step].step, pair.candidate_number);
    EXPECT_EQ(pair.base_begin,
              fast_run().to_view(fast_run().analysis.steps[pair.base_step].window.begin));
    EXPECT_GT(pair.candidate_end - pair.candidate_begin, pair.base_end - pair.base_begin);
  }
}

TEST(AlignSteps, TakesThemInTheirOrderWhereNoNumberIsInBoth) {
  Scene other = synthetic_scene({.devices = 1, .steps = 9});
  for (auto& step : other.analysis.steps) step.step += 1000;
  StepAlignment const alignment = align_steps(fast_run(), other);
  EXPECT_EQ(alignment.by, StepAlignment::By::kOrder);
  ASSERT_EQ(alignment.pairs.size(), 9U);
  EXPECT_EQ(alignment.pairs[4].base_number, 4);
  EXPECT_EQ(alignment.pairs[4].candidate_number, 1004);
  EXPECT_EQ(alignment.base_alone, 3U);
}

TEST(AlignSteps, OfRunsWithoutStepsAlignsTheirBeginnings) {
  for (auto const& [base, candidate] :
       {std::pair{&run_without_steps(), &fast_run()}, std::pair{&fast_run(), &run_without_steps()},
        std::pair{&run_without_steps(), &run_without_steps()}}) {
    StepAlignment const alignment = align_steps(*base, *candidate);
    EXPECT_EQ(alignment.by, StepAlignment::By::kNothing);
    EXPECT_TRUE(alignment.pairs.empty());

    EXPECT_FALSE(aligned_step(alignment, 3, RunSide::kBase, {0, 1000}));
    EXPECT_EQ(shift_at(alignment, std::nullopt), 0);
    EXPECT_EQ(shift_at(alignment, 7), 0);
    EXPECT_TRUE(step_links(alignment, std::nullopt, {0, 1000}, 500, 7).empty());
  }
}

TEST(AlignSteps, TakesNoStepTwice) {
  Scene doubled = synthetic_scene({.devices = 1, .steps = 8});
  for (auto& step : doubled.analysis.steps) step.step = step.step / 2;
  StepAlignment const alignment = align_steps(doubled, doubled);
  EXPECT_EQ(alignment.pairs.size(), 4U);
  EXPECT_EQ(alignment.base_alone, 4U);
  for (auto const& pair : alignment.pairs) EXPECT_EQ(pair.base_step, pair.candidate_step);
}

TEST(AlignedStep, IsTheFirstThatBeginsInTheWindowOfTheRunThatMoves) {
  StepAlignment const alignment = align_steps(fast_run(), slow_run());
  auto const& pairs = alignment.pairs;
  TimeWindow const base{static_cast<double>(pairs[3].base_begin) - 1,
                        static_cast<double>(pairs[6].base_end)};
  EXPECT_EQ(aligned_step(alignment, std::nullopt, RunSide::kBase, base), 3U);
  TimeWindow const candidate{static_cast<double>(pairs[3].candidate_begin) - 1,
                             static_cast<double>(pairs[6].candidate_end)};
  EXPECT_EQ(aligned_step(alignment, std::nullopt, RunSide::kNew, candidate), 3U);
}

TEST(AlignedStep, IsTheOneAroundAWindowInWhichNoneBegins) {
  StepAlignment const alignment = align_steps(fast_run(), slow_run());
  auto const& pair = alignment.pairs[5];
  TimeWindow const inside{static_cast<double>(pair.base_begin) + 1000,
                          static_cast<double>(pair.base_begin) + 2000};
  EXPECT_EQ(aligned_step(alignment, std::nullopt, RunSide::kBase, inside), 5U);
  // Before all steps, the first step is aligned.
  EXPECT_EQ(aligned_step(alignment, std::nullopt, RunSide::kBase, {-5000, -4000}), 0U);
  EXPECT_EQ(aligned_step(alignment, 99, RunSide::kBase, {-5000, -4000}), 0U);
}

TEST(AlignedStep, StaysUntilNothingOfItIsSeenInEither) {
  StepAlignment const alignment = align_steps(fast_run(), slow_run());
  auto const& pair = alignment.pairs[5];
  // The step of the base is over where that of the new run still goes on.
  int64_t const longer = pair.candidate_end - pair.candidate_begin;
  TimeWindow const late{static_cast<double>(pair.base_begin + longer) - 10,
                        static_cast<double>(pair.base_begin + longer) + 1e9};
  EXPECT_EQ(aligned_step(alignment, 5, RunSide::kBase, late), 5U);
  TimeWindow const over{late.begin + 11, late.end};
  EXPECT_NE(aligned_step(alignment, 5, RunSide::kBase, over), 5U);
}

TEST(AlignedStep, BeginsAtTheSamePlaceInBothWhateverIsMoved) {
  StepAlignment const alignment = align_steps(fast_run(), slow_run());
  std::mt19937_64 random(7);
  auto const length = static_cast<double>(slow_run().length);
  std::uniform_real_distribution<double> at(-0.2 * length, 1.1 * length);
  std::uniform_real_distribution<double> exponent(2, 9.5);
  std::optional<uint32_t> aligned;
  TimeWindow base, candidate;

  for (int move = 0; move < 3000; ++move) {
    RunSide const side = random() % 2 == 0 ? RunSide::kBase : RunSide::kNew;
    double const begin = at(random);
    TimeWindow const window{begin, begin + std::pow(10, exponent(random))};

    auto const before = aligned;
    aligned = aligned_step(alignment, aligned, side, window);
    ASSERT_TRUE(aligned);
    TimeWindow const other = other_window(alignment, aligned, side, window);
    base = side == RunSide::kBase ? window : other;
    candidate = side == RunSide::kBase ? other : window;

    EXPECT_NEAR(base.span(), candidate.span(), 1e-3);
    auto const& pair = alignment.pairs[*aligned];
    EXPECT_NEAR(place_in(pair.base_begin, base) * base.span(),
                place_in(pair.candidate_begin, candidate) * candidate.span(), 1e-3);

    // The aligned step changes only when neither window would show the previous one.
    if (!before || aligned == before) continue;
    TimeWindow const kept = other_window(alignment, before, side, window);
    EXPECT_FALSE(is_seen(alignment.pairs[*before], side == RunSide::kBase ? window : kept,
                         side == RunSide::kBase ? kept : window));
  }
}

TEST(StepLinks, JoinBeginningsAndTheAlignedOneIsVertical) {
  StepAlignment const alignment = align_steps(fast_run(), slow_run());
  TimeWindow const whole{0, static_cast<double>(slow_run().length)};
  auto const aligned = aligned_step(alignment, std::nullopt, RunSide::kBase, whole);
  auto const links = step_links(alignment, aligned, whole, 1000, 7);

  ASSERT_EQ(links.size(), alignment.pairs.size());
  EXPECT_TRUE(links.back().is_aligned);
  EXPECT_FLOAT_EQ(links.back().base_x, links.back().candidate_x);

  // The new run's steps take longer: the later the step, the farther behind.
  for (size_t i = 1; i + 1 < links.size(); ++i) {
    EXPECT_GT(links[i].base_x, links[i - 1].base_x);
    EXPECT_GT(links[i].candidate_x - links[i].base_x,
              links[i - 1].candidate_x - links[i - 1].base_x);
  }
}

TEST(StepLinks, AreNoDenserThanAskedFor) {
  StepAlignment many;
  many.by = StepAlignment::By::kNumber;
  for (int64_t i = 0; i < 200'000; ++i)
    many.pairs.push_back({i, i, i * 100, i * 100 + 90, i * 120, i * 120 + 110, 0, 0});

  for (double const begin : {0.0, 5e6, 19e6}) {
    TimeWindow const window{begin, begin + 1e6};
    auto const aligned = aligned_step(many, std::nullopt, RunSide::kBase, window);
    auto const links = step_links(many, aligned, window, 700, 7);
    ASSERT_FALSE(links.empty());
    EXPECT_LE(links.size(), 3U * 101);
    EXPECT_TRUE(links.back().is_aligned);
    for (size_t i = 0; i + 1 < links.size(); ++i) EXPECT_FALSE(links[i].is_aligned);
  }

  EXPECT_TRUE(step_links(many, 0, {0, 1000}, 0, 7).empty());
}

TEST(StepLinks, OfHostileTimesStayNumbers) {
  constexpr int64_t kDistantNs = int64_t{1} << 61;
  StepAlignment hostile;
  hostile.pairs = {{0, 0, -kDistantNs, kDistantNs, kDistantNs, -kDistantNs, 0, 0},
                   {1, 1, 0, 0, 0, 0, 0, 0},
                   {1, 1, kDistantNs, kDistantNs, -kDistantNs, -kDistantNs, 0, 0}};

  for (RunSide const side : {RunSide::kBase, RunSide::kNew})
    for (TimeWindow const window : {TimeWindow{0, 50}, TimeWindow{-3e18, 3e18}}) {
      auto const aligned = aligned_step(hostile, 1, side, window);
      for (StepLink const& link : step_links(hostile, aligned, window, 500, 7)) {
        EXPECT_TRUE(std::isfinite(link.base_x));
        EXPECT_TRUE(std::isfinite(link.candidate_x));
      }
    }
}

}  // namespace
}  // namespace stepscope::viewer
