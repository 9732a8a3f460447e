// What a person does with the keyboard alone, against the state.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/viewer/null_ui.h"
#include "tests/unit/viewer/scenes.h"
#include "viewer/interaction/navigate.h"
#include "viewer/panels/panels.h"
#include "viewer/queries/search_query.h"
#include "viewer/timeline/draw.h"

namespace stepscope::viewer {
namespace {

TEST(UiKeys, SlashSearchesAndEnterGoesToTheFirstHit) {
  NullUi ui;
  ViewState state = initial_view(training());
  ui.frames(training(), state, 3);

  ui.type(training(), state, "/");
  EXPECT_TRUE(state.search.open);
  ui.frames(training(), state, 2);
  ui.type(training(), state, "reduce");
  EXPECT_EQ(state.search.text, "reduce");
  EXPECT_GT(state.search.total, 0U);

  ui.press(training(), state, Key::kEnter);
  ASSERT_TRUE(state.selection);
  uint32_t const first = *state.search.current;

  ui.type(training(), state, "n");
  EXPECT_EQ(*state.search.current, first + 1);
  ui.type(training(), state, "N");
  EXPECT_EQ(*state.search.current, first);
}

TEST(UiKeys, LettersTypedIntoTheSearchDoNotMoveTheView) {
  NullUi ui;
  ViewState state = initial_view(training());
  ui.frames(training(), state, 3);
  ui.type(training(), state, "/");
  ui.frames(training(), state, 2);

  TimeWindow const before = state.window;
  ui.hold(Key::kW, true);
  ui.type(training(), state, "www");
  ui.hold(Key::kW, false);

  EXPECT_EQ(state.window, before);
  EXPECT_EQ(state.search.text, "www");
}

TEST(UiKeys, WZoomsInAndBackspaceGoesBack) {
  NullUi ui;
  ViewState state = initial_view(training());
  ui.frames(training(), state, 3);

  TimeWindow const before = state.window;
  ui.hold(Key::kW, true);
  ui.frames(training(), state, 10);
  ui.hold(Key::kW, false);
  ui.frames(training(), state, 1);
  EXPECT_LT(state.window.span(), before.span() * 0.95);

  ui.press(training(), state, Key::kBackspace);
  EXPECT_EQ(state.window, before);
}

TEST(UiKeys, FShowsTheSelectionAndHomeTheWholeRun) {
  NullUi ui;
  ViewState state = initial_view(training());
  state.selection = Selection{Selection::What::kEvent, 0, 3};
  ui.frames(training(), state, 3);
  ui.press(training(), state, Key::kF);
  EXPECT_LT(state.window.span(), static_cast<double>(training().length) / 2);
  ui.press(training(), state, Key::kHome);
  EXPECT_EQ(state.window, (TimeWindow{0, static_cast<double>(training().length)}));
}

TEST(UiKeys, MMarksTheSelectionAsRange) {
  NullUi ui;
  ViewState state = initial_view(training());
  state.selection = Selection{Selection::What::kEvent, 0, 3};
  ui.frames(training(), state, 3);
  ui.press(training(), state, Key::kM);
  ASSERT_TRUE(state.range);
  EXPECT_DOUBLE_EQ(state.range->begin,
                   static_cast<double>(training().when(*state.selection).begin));
}

TEST(UiKeys, QuestionMarkShowsTheKeysAndEscapeHidesThem) {
  NullUi ui;
  ViewState state = initial_view(training());
  ui.frames(training(), state, 3);
  ui.type(training(), state, "?");
  EXPECT_TRUE(state.panels.help);
  ui.press(training(), state, Key::kEscape);
  EXPECT_FALSE(state.panels.help);
}

TEST(UiKeys, UpAndDownScrollTheTracks) {
  NullUi ui(1280, 400);
  Scene const& scene = training();
  ViewState state = initial_view(scene);
  ui.frames(scene, state, 2);

  ui.hold(Key::kDown, true);
  ui.frames(scene, state, 10);
  ui.hold(Key::kDown, false);
  float const low = state.scroll;
  EXPECT_GT(low, 0);
  ui.hold(Key::kUp, true);
  ui.frames(scene, state, 5);
  EXPECT_LT(state.scroll, low);
}

TEST(UiKeys, F6GivesTheArrowsToTheFindingsAndSpaceChoosesOne) {
  NullUi ui;
  Scene const& scene = training();
  ViewState state = initial_view(scene);
  state.finding.reset();
  ui.frames(scene, state, 2);
  TimeWindow const window = state.window;

  ui.press(scene, state, Key::kF6);
  EXPECT_EQ(state.panels.keys, KeyPlace::kFindings);
  for (int i = 0; i < 3 && !state.finding; ++i) {
    ui.press(scene, state, Key::kDown);
    EXPECT_EQ(state.window, window) << "the timeline has no arrows";
    ui.press(scene, state, Key::kSpace);
  }
  EXPECT_TRUE(state.finding.has_value());
  EXPECT_EQ(state.panels.keys, KeyPlace::kFindings);

  ui.press(scene, state, Key::kEscape);
  EXPECT_EQ(state.panels.keys, KeyPlace::kTimeline);
  EXPECT_TRUE(state.finding.has_value()) << "Esc does one thing";
}

TEST(UiKeys, F6GoesAroundTheWindowAndAClickInTheTimelineGivesTheKeysBack) {
  NullUi ui;
  Scene const& scene = training();
  ViewState state = initial_view(scene);
  ui.frames(scene, state, 2);
  for (KeyPlace const place :
       {KeyPlace::kFindings, KeyPlace::kDetails, KeyPlace::kPanel, KeyPlace::kTimeline}) {
    ui.press(scene, state, Key::kF6);
    ui.frames(scene, state, 3);
    EXPECT_EQ(state.panels.keys, place);
  }

  ui.press(scene, state, Key::kF6);
  ui.click(scene, state, 600, 300);
  EXPECT_EQ(state.panels.keys, KeyPlace::kTimeline);
}

TEST(UiKeys, AKernelIsChosenAndItsTableSortedWithoutAMouse) {
  NullUi ui;
  Scene const& scene = training();
  ViewState state = initial_view(scene);
  show_panel(state, "kernels");
  ui.frames(scene, state, 2);
  for (int i = 0; i < 3; ++i) ui.press(scene, state, Key::kF6);
  EXPECT_EQ(state.panels.keys, KeyPlace::kPanel);

  for (int i = 0; i < 3; ++i) ui.press(scene, state, Key::kDown);
  ui.press(scene, state, Key::kSpace);
  EXPECT_FALSE(state.search.text.empty());

  state.search = {};
  ui.press(scene, state, Key::kEscape);
  EXPECT_EQ(state.panels.keys, KeyPlace::kPanel) << "what is around the table";
  for (int i = 0; i < 2; ++i) ui.press(scene, state, Key::kEscape);
  EXPECT_EQ(state.panels.keys, KeyPlace::kTimeline);
}

TEST(UiKeys, ArrowsWithCtrlGoFromEventToEvent) {
  NullUi ui;
  Scene const& scene = training();
  ViewState state = initial_view(scene);
  go_to(state, scene, {20e6, 22e6});
  ui.frames(scene, state, 2);

  ui.press_with_ctrl(scene, state, Key::kRight);
  ASSERT_TRUE(state.selection.has_value());
  Selection const first = *state.selection;
  ui.press_with_ctrl(scene, state, Key::kRight);
  Selection const second = *state.selection;
  EXPECT_LT(scene.when(first).begin, scene.when(second).begin);
  ui.press_with_ctrl(scene, state, Key::kLeft);
  EXPECT_EQ(*state.selection, first);

  // Where its track has no event in the window the view moves, and the track stays the same.
  go_to(state, scene, {20e6, 20.001e6});
  auto const track = scene.node_of(first);
  for (int i = 0; i < 40 && *state.selection == first; ++i)
    ui.press_with_ctrl(scene, state, Key::kLeft);
  EXPECT_EQ(scene.node_of(*state.selection), track);
}

TEST(UiKeys, BracesGoFromStepToStep) {
  NullUi ui;
  Scene const& scene = training();
  ViewState state = initial_view(scene);
  ui.frames(scene, state, 2);

  ui.type(scene, state, "}");
  TimeWindow const first = state.window;
  ui.type(scene, state, "}");
  TimeWindow const second = state.window;
  EXPECT_LT(first.begin, second.begin);
  EXPECT_NEAR(first.span(), second.span(), first.span() / 2);
  ui.type(scene, state, "{");
  EXPECT_NEAR(state.window.begin, first.begin, first.span() / 100);
  go_to(state, scene, {-50e6, -40e6});
  ui.type(scene, state, "}");
  EXPECT_NEAR(state.window.begin, first.begin, first.span() / 100) << "from before the first one";
  ui.type(scene, state, "{{{");
  EXPECT_NEAR(state.window.begin, first.begin, first.span() / 100) << "no step comes before it";
}

}  // namespace
}  // namespace stepscope::viewer
