// Two runs one above the other, on ImGui's null backend. A move in one moves the other, and the
// viewer says why it cannot compare two runs.
#include "viewer/panels/compared/run_pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/viewer/comparison/scaling_scenes.h"
#include "tests/unit/viewer/event_store/out_of_core/out_of_core_scenes.h"
#include "tests/unit/viewer/null_ui.h"
#include "tests/unit/viewer/scenes.h"
#include "viewer/interaction/navigate.h"
#include "viewer/panels/compared/compared_runs.h"
#include "viewer/panels/panels.h"
#include "viewer/queries/search_query.h"
#include "viewer/scene/track_choice.h"
#include "viewer/timeline/draw.h"

namespace stepscope::viewer {
namespace {

constexpr support::SyntheticOptions kBaseRun{.devices = 2, .steps = 14, .process_per_device = true};
constexpr support::SyntheticOptions kSlowRun{.devices = 2,
                                             .steps = 14,
                                             .layers = 7,
                                             .process_per_device = true,
                                             .seed = 3,
                                             .forward_ns = 1'400'000};

std::unique_ptr<Scene> scene_on_heap(support::SyntheticOptions const& options) {
  return std::make_unique<Scene>(synthetic_scene(options));
}

/// A base and a pair on a window of its own.
class PairTest : public testing::Test {
 protected:
  PairTest() : pair_(scene_on_heap(kSlowRun), "base path", "new path") {
    state_.panels.tab = Tab::kComparison;
    ui_.pair = &pair_;
    frames(3);
  }
  void frames(int count) { ui_.frames(base_, state_, count); }
  [[nodiscard]] ViewState const& candidate() const { return pair_.candidate_state(); }
  /// The aligned step must begin at the same place in both.
  void expect_aligned() {
    ASSERT_TRUE(pair_.aligned());
    auto const& step = pair_.alignment().pairs[*pair_.aligned()];
    EXPECT_NEAR(state_.window.span(), candidate().window.span(), 1e-3);
    EXPECT_NEAR(static_cast<double>(step.base_begin) - state_.window.begin,
                static_cast<double>(step.candidate_begin) - candidate().window.begin, 1e-3);
  }

  Scene base_ = synthetic_scene(kBaseRun);
  ViewState state_ = initial_view(base_);
  NullUi ui_{1600, 1000};
  RunPair pair_;
};

TEST_F(PairTest, BeginsWithTheWholeOfBothFromTheirFirstCommonStep) {
  EXPECT_EQ(pair_.aligned(), 0U);
  expect_aligned();
  EXPECT_LE(state_.window.begin, 0);
  EXPECT_GE(state_.window.end, static_cast<double>(base_.length));
  EXPECT_LE(candidate().window.begin, 0);
  EXPECT_GE(candidate().window.end, static_cast<double>(pair_.candidate().length));
}

TEST_F(PairTest, MovingEitherMovesTheOther) {
  // The wheel above the base's rows, then above the new run's.
  for (float const y : {250.0F, 560.0F}) {
    TimeWindow const before = state_.window;
    ui_.move(900, y);
    frames(2);
    ImGui::GetIO().MouseWheel = 2;
    frames(1);
    ImGui::GetIO().MouseWheel = 0;
    frames(2);
    EXPECT_LT(state_.window.span(), before.span());
    expect_aligned();
  }

  // The aligned step stays the same while it is visible.
  go_to(state_, base_, {10e6, 60e6});
  frames(2);
  auto const aligned = pair_.aligned();
  pan(state_, base_, 0.05);
  frames(2);
  EXPECT_EQ(pair_.aligned(), aligned);
  expect_aligned();
}

TEST_F(PairTest, BackspaceGoesBackInBoth) {
  TimeWindow const before = state_.window;
  go_to(state_, base_, {10e6, 60e6});
  frames(2);
  ui_.press(base_, state_, Key::kBackspace);
  frames(2);
  EXPECT_EQ(state_.window, before);
  expect_aligned();
}

TEST_F(PairTest, AStepIsShownInBoth) {
  for (RunSide const side : {RunSide::kBase, RunSide::kNew}) {
    pair_.bring_to_front(side);
    frames(2);
    pair_.show_step(side == RunSide::kBase ? 7 : 4);
    frames(2);
    EXPECT_EQ(pair_.aligned(), side == RunSide::kBase ? 7U : 4U);
    expect_aligned();

    auto const& step = pair_.alignment().pairs[*pair_.aligned()];
    EXPECT_LT(state_.window.begin, static_cast<double>(step.base_begin));
    EXPECT_GT(state_.window.end, static_cast<double>(step.base_end));
    EXPECT_GT(candidate().window.end, static_cast<double>(step.candidate_end));
  }

  pair_.show_step(99999);
  frames(2);
}

TEST_F(PairTest, AClickOnThePairOfBarsShowsThatStep) {
  ui_.click(base_, state_, gutter() + 14 * 50, 110);
  EXPECT_NE(pair_.aligned(), 0U);
  EXPECT_LT(state_.window.span(), static_cast<double>(base_.length) / 5);
  expect_aligned();
}

TEST_F(PairTest, TracksThatAreClosedHiddenOrFilteredAreSoInBoth) {
  state_.closed.insert(*node_of_path(base_, "Rank 1"));
  hide(state_, base_, *node_of_path(base_, "Rank 0"));
  frames(2);
  EXPECT_TRUE(candidate().closed.contains(*node_of_path(pair_.candidate(), "Rank 1")));
  EXPECT_TRUE(candidate().tracks.hidden.contains("Rank 0"));

  ui_.type(base_, state_, "t");
  frames(3);
  ui_.type(base_, state_, "rank 1");
  ui_.press(base_, state_, Key::kEnter);
  frames(2);
  EXPECT_EQ(state_.tracks.filter, "rank 1");
  EXPECT_EQ(candidate().tracks.filter, "rank 1");

  // The other way round: the new run is in front.
  pair_.bring_to_front(RunSide::kNew);
  frames(2);
  show_all_tracks(pair_.front().state);
  open_all(pair_.front().state);
  frames(2);
  EXPECT_TRUE(state_.tracks.hidden.empty());
  EXPECT_TRUE(state_.closed.empty());
}

TEST_F(PairTest, TheScalingPanelShowsTheBasesSeriesWhicheverRunIsInFront) {
  base_.series = scaling_series();
  state_.panels.tab = Tab::kScaling;
  frames(4);

  // The pixels below the tabs, left of the findings.
  auto const panel = [&] {
    constexpr size_t kTop = 820, kRight = 1200;
    Picture const picture = ui_.picture(surface(state_.theme).background);
    size_t const line = picture.pixels.size() / static_cast<size_t>(picture.height);
    size_t const part = line / static_cast<size_t>(picture.width) * kRight;
    std::vector<uint8_t> pixels;
    for (size_t at = kTop * line; at < picture.pixels.size(); at += line)
      pixels.insert(pixels.end(), picture.pixels.begin() + static_cast<ptrdiff_t>(at),
                    picture.pixels.begin() + static_cast<ptrdiff_t>(at + part));
    return pixels;
  };

  auto const of_base = panel();
  pair_.bring_to_front(RunSide::kNew);
  frames(4);
  EXPECT_EQ(pair_.front_side(), RunSide::kNew);
  EXPECT_TRUE(panel() == of_base);
}

TEST(PairOfRuns, DevicesOfOtherNamesOpenAndCloseTogether) {
  Scene base = synthetic_scene({.devices = 4, .steps = 4});
  uint32_t const device = *base.node_of_device({0, 2});
  base.nodes[device].path += " · H100";
  ViewState state = initial_view(base);

  NullUi ui;
  RunPair pair(scene_on_heap({.devices = 4, .steps = 4}), "", "");
  ui.pair = &pair;
  ui.frames(base, state, 3);
  ASSERT_TRUE(state.closed.contains(device));
  state.closed.erase(device);
  ui.frames(base, state, 2);

  auto const& closed = pair.candidate_state().closed;
  EXPECT_FALSE(closed.contains(*pair.candidate().node_of_device({0, 2})));
  EXPECT_TRUE(closed.contains(*pair.candidate().node_of_device({0, 1})));
}

TEST(PairOfRuns, MovingATrackOfTheNewRunLeavesThoseThatOnlyTheBaseHas) {
  Scene const base = synthetic_scene({.devices = 4, .steps = 4, .process_per_device = true});
  ViewState state = initial_view(base);
  state.tracks.order[""] = {"Rank 3", "Rank 0", "Rank 1", "Rank 2"};

  NullUi ui;
  RunPair pair(scene_on_heap({.devices = 2, .steps = 4, .process_per_device = true}), "", "");
  ui.pair = &pair;
  ui.frames(base, state, 3);
  pair.bring_to_front(RunSide::kNew);
  ui.frames(base, state, 2);

  Scene const& candidate = pair.candidate();
  move_track_to(pair.front().state, candidate, *node_of_path(candidate, "Rank 1"),
                *node_of_path(candidate, "Rank 0"), false);
  ui.frames(base, state, 2);

  EXPECT_THAT(state.tracks.order.at(""),
              testing::ElementsAre("Rank 3", "Rank 1", "Rank 2", "Rank 0"));
}

TEST_F(PairTest, AClickOnARunBringsItIntoThePanels) {
  EXPECT_EQ(pair_.front_side(), RunSide::kBase);
  ui_.click(base_, state_, 900, 600);
  EXPECT_EQ(pair_.front_side(), RunSide::kNew);
  ui_.click(base_, state_, 900, 250);
  EXPECT_EQ(pair_.front_side(), RunSide::kBase);

  ui_.type(base_, state_, "x");
  frames(2);
  EXPECT_EQ(pair_.front_side(), RunSide::kNew);

  // The panels are the same, whichever run is in them.
  ui_.type(base_, state_, "2");
  frames(2);
  EXPECT_EQ(state_.panels.tab, Tab::kKernels);
  EXPECT_EQ(candidate().panels.tab, Tab::kKernels);

  ui_.type(base_, state_, "c");
  frames(2);
  EXPECT_EQ(state_.panels.tab, Tab::kComparison);
}

TEST_F(PairTest, AClickInATableLetsTheOpsStandOutInBoth) {
  for (ChangeTable const table :
       {ChangeTable::kKernels, ChangeTable::kClasses, ChangeTable::kCollectives}) {
    pair_.table = table;
    SCOPED_TRACE(static_cast<int>(table));
    state_.search = {};
    frames(3);

    for (float y = 830; y < 990 && state_.search.text.empty(); y += 9)
      ui_.click(base_, state_, 620, y);
    EXPECT_FALSE(state_.search.text.empty());
    EXPECT_EQ(candidate().search.text, state_.search.text);

    frames(3);
    EXPECT_FALSE(state_.search.pending);
    EXPECT_FALSE(candidate().search.pending);
    EXPECT_GT(state_.search.total + candidate().search.total, 0U);
  }
}

TEST_F(PairTest, NumbersAreThoseOfTheComparison) {
  RunDifference const* const difference = pair_.difference();
  ASSERT_NE(difference, nullptr);
  ASSERT_TRUE(difference->comparison);

  auto const expected = analyzer::compare_runs(
      {analyzer::sample_run(base_.run, base_.analysis)},
      {analyzer::sample_run(pair_.candidate().run, pair_.candidate().analysis)});
  auto const& found = *difference->comparison;

  EXPECT_EQ(found.verdict, analyzer::Verdict::kMore);
  EXPECT_EQ(found.verdict, expected.verdict);
  EXPECT_EQ(found.parts_ns, expected.parts_ns);
  EXPECT_EQ(found.metrics.size(), expected.metrics.size());
  EXPECT_EQ(found.base.mean_ns, expected.base.mean_ns);
  EXPECT_THAT(found.base.runs, testing::ElementsAre("base path"));
  EXPECT_THAT(found.candidate.runs, testing::ElementsAre("new path"));
}

TEST_F(PairTest, ColoursByChangeUntilAPersonDoesNotWantThat) {
  ASSERT_NE(pair_.marks(), nullptr);
  Picture const coloured = ui_.picture(surface(state_.theme).background);
  pair_.coloured = false;
  EXPECT_EQ(pair_.marks(), nullptr);
  frames(2);
  Picture const by_class = ui_.picture(surface(state_.theme).background);
  EXPECT_TRUE(coloured.pixels != by_class.pixels);
}

TEST_F(PairTest, DrawsEverythingInEveryStateOnBothThemes) {
  for (Theme const theme : {Theme::kDark, Theme::kLight})
    for (size_t tab = 0; tab < all_panels().size(); ++tab) {
      state_.theme = theme;
      state_.panels.tab = Tab{all_panels()[tab].id};
      state_.panels.path = tab % 2 == 0;
      pair_.bring_to_front(tab % 2 == 0 ? RunSide::kBase : RunSide::kNew);
      frames(3);
      EXPECT_EQ(candidate().theme, state_.theme);
      EXPECT_GT(ImGui::GetDrawData()->TotalVtxCount, 0);
    }

  state_.panels.tab = Tab::kComparison;
  for (ChangeTable const table :
       {ChangeTable::kKernels, ChangeTable::kClasses, ChangeTable::kCollectives}) {
    pair_.table = table;
    // Move the mouse over everything, for the tooltips.
    for (float y = 45; y < 1000; y += 53)
      for (float x = 10; x < 1600; x += 131) {
        ui_.move(x, y);
        frames(1);
      }
  }
}

TEST_F(PairTest, TheBandBetweenGivesOneOfThemMoreRoom) {
  float const before = pair_.share;

  // Search the band from above: it is where a drag changes the share.
  for (float y = 300; y < 600 && pair_.share == before; y += 8) {
    ui_.move(1000, y);
    frames(2);
    ui_.button(true);
    frames(1);
    ui_.move(1000, y + 60);
    frames(2);
    ui_.button(false);
    frames(2);
  }

  EXPECT_GT(pair_.share, before);
  expect_aligned();
}

TEST_F(PairTest, FitsIntoAWindowThatIsFarTooSmall) {
  for (auto const& [width, height] :
       {std::pair{320.0F, 320.0F}, std::pair{400.0F, 200.0F}, std::pair{100.0F, 100.0F}}) {
    ImGui::GetIO().DisplaySize = ImVec2(width, height);
    frames(3);
  }
}

/// Shows a base next to any other run.
void expect_shown(Scene const& base, std::unique_ptr<Scene> candidate,
                  std::optional<analyzer::Refusal> refusal) {
  ViewState state = initial_view(base);
  state.panels.tab = Tab::kComparison;
  NullUi ui;
  RunPair pair(std::move(candidate), "", "");
  ui.pair = &pair;
  ui.frames(base, state, 3);

  RunDifference const* const difference = pair.difference();
  ASSERT_NE(difference, nullptr);
  ASSERT_TRUE(difference->comparison);
  EXPECT_EQ(difference->comparison->refusal, refusal);
  EXPECT_EQ(pair.marks() == nullptr, refusal.has_value());

  for (Tab const tab : {Tab::kComparison, Tab::kStatistics}) {
    state.panels.tab = tab;
    for (float y = 50; y < 800; y += 67)
      for (float x = 10; x < 1280; x += 211) {
        ui.move(x, y);
        ui.frames(base, state, 1);
      }
  }

  pair.show_step(0);
  pair.highlight("kind:kernel");
  ui.frames(base, state, 3);
}

TEST(PairOfRuns, ThatCannotBeComparedStandBesideEachOtherAllTheSame) {
  Scene const base = synthetic_scene(kBaseRun);
  expect_shown(base, std::make_unique<Scene>(scene_of([](model::TraceBuilder&) {})),
               analyzer::Refusal::kNoSteps);
  expect_shown(base, std::make_unique<Scene>(analyzed(model::Run{})), analyzer::Refusal::kNoSteps);
  expect_shown(base, std::make_unique<Scene>(scene_of([](model::TraceBuilder& builder) {
                 builder.events(add_stream(builder))
                     .add(model::EventKind::kKernel, 5, 1, builder.intern("k"), 0,
                          model::KernelDetail{});
               })),
               analyzer::Refusal::kNoSteps);

  Scene const nothing = analyzed(model::Run{});
  expect_shown(nothing, scene_on_heap(kBaseRun), analyzer::Refusal::kNoSteps);
  expect_shown(nothing, std::make_unique<Scene>(analyzed(model::Run{})),
               analyzer::Refusal::kNoSteps);
}

TEST(PairOfRuns, WithoutAKernelInCommonIsRefused) {
  Scene const base = synthetic_scene(kBaseRun);
  model::Run other = support::make_synthetic_run(kBaseRun);
  auto candidate = std::make_unique<Scene>(analyzed(std::move(other)));
  for (auto& kernel : candidate->analysis.kernels) kernel.name = "other " + kernel.name;
  expect_shown(base, std::move(candidate), analyzer::Refusal::kNoCommonKernel);
}

TEST(PairOfRuns, OfTheSameRecordingIsTheSame) {
  Scene const base = synthetic_scene(kBaseRun);
  expect_shown(base, scene_on_heap(kBaseRun), std::nullopt);
  RunPair const same(scene_on_heap(kBaseRun), "/tmp", "/tmp/.");
  EXPECT_TRUE(same.is_same_run());
  RunPair const other(scene_on_heap(kBaseRun), "/tmp", "/usr");
  EXPECT_FALSE(other.is_same_run());
  RunPair const gone(scene_on_heap(kBaseRun), "/not there", "/not there");
  EXPECT_FALSE(gone.is_same_run());
}

class OutOfCorePairTest : public OutOfCoreTest {};

TEST_F(OutOfCorePairTest, AnOutOfCoreRunIsComparedOnceBothAreAnalyzed) {
  write(support::make_synthetic_run(kSlowRun));
  Scene const base = synthetic_scene(kBaseRun);
  ViewState state = initial_view(base);
  state.panels.tab = Tab::kComparison;
  NullUi ui;
  RunPair pair(open_out_of_core(), "", "");
  ui.pair = &pair;

  ui.frames(base, state, 1);
  EXPECT_EQ(pair.difference(), nullptr);
  EXPECT_THAT(pair.waits_for(), testing::StartsWith("New: analyzing"));
  EXPECT_EQ(pair.alignment().by, StepAlignment::By::kNothing);

  ui.frames(base, state, 4);
  ASSERT_NE(pair.difference(), nullptr);
  EXPECT_EQ(pair.difference()->comparison->verdict, analyzer::Verdict::kMore);
  EXPECT_EQ(pair.alignment().pairs.size(), 14U);
  EXPECT_TRUE(pair.aligned());

  pair.show_step(5);
  ui.frames(base, state, 6);
  EXPECT_FALSE(pair.is_busy());
}

TEST_F(OutOfCorePairTest, TheBaseMayBeOutOfCoreToo) {
  write(support::make_synthetic_run(kBaseRun));
  auto const base = open_out_of_core();
  ViewState state = initial_view(*base);
  state.panels.tab = Tab::kComparison;
  NullUi ui;
  RunPair pair(scene_on_heap(kSlowRun), "", "");
  ui.pair = &pair;

  base->missing_analysis = "analyzing %s";
  ui.frames(*base, state, 3);
  EXPECT_EQ(pair.difference(), nullptr);
  EXPECT_EQ(pair.waits_for(), "Base: analyzing %s");

  analyze(*base);
  ui.frames(*base, state, 3);
  ASSERT_NE(pair.difference(), nullptr);
  EXPECT_EQ(pair.difference()->comparison->verdict, analyzer::Verdict::kMore);
  EXPECT_EQ(pair.alignment().pairs.size(), 14U);
}

}  // namespace
}  // namespace stepscope::viewer
