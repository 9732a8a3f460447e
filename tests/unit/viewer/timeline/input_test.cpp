#include "viewer/timeline/input.h"

#include <gtest/gtest.h>

#include "tests/unit/viewer/scenes.h"

namespace stepscope::viewer {
namespace {

class Input : public testing::Test {
 protected:
  void SetUp() override { state.window = {10e6, 60e6}; }
  [[nodiscard]] Layout layout() const { return lay_out(scene, state, {1000, 600, 1}); }
  void apply(TimelineInput const& input) { apply_input(input, scene, layout(), state); }
  /// Button down at (x, y), moved by (dx, dy), up.
  void drag(float x, float y, float dx, float dy, bool shift = false) {
    apply({.x = x, .y = y, .hovered = true, .shift = shift, .pressed = true});
    apply({.x = x + dx,
           .y = y + dy,
           .hovered = true,
           .shift = shift,
           .dragging = true,
           .dx = dx,
           .dy = dy});
    apply({.x = x + dx, .y = y + dy, .hovered = true, .released = true, .dragging = true});
  }
  void click(float x, float y) {
    apply({.x = x, .y = y, .hovered = true, .pressed = true});
    apply({.x = x, .y = y, .hovered = true, .released = true});
  }
  /// Middle of the first item of the kind that is wider than `min_width` and not covered by
  /// another.
  std::pair<float, float> find_item(ItemKind kind, float min_width) const {
    Layout const laid = layout();
    for (uint32_t i = 0; i < laid.items.size(); ++i) {
      Item const& item = laid.items[i];
      std::pair<float, float> const middle{(item.x0 + item.x1) / 2, (item.y0 + item.y1) / 2};
      auto const hit = hit_test(laid, middle.first, middle.second);
      if (item.kind == kind && item.x1 - item.x0 > min_width && hit && hit->item == i)
        return middle;
    }
    return {-1, -1};
  }

  Scene scene = synthetic_scene({.devices = 2, .steps = 10, .input_delay_ns = 5'000'000});
  ViewState state = initial_view(scene);
};

TEST_F(Input, WheelZoomsAtTheMouse) {
  double const under = layout().time_at(250);
  apply({.x = 250, .y = 10, .hovered = true, .wheel = 3});
  EXPECT_LT(state.window.span(), 50e6 * 0.6);
  EXPECT_NEAR(layout().time_at(250), under, 1);
}

TEST_F(Input, WheelOverTheNamesScrollsInsteadOfZooming) {
  ViewState const before = state;
  apply_input({.x = -50, .y = 10, .hovered = true, .wheel = -1}, scene,
              lay_out(scene, state, {1000, 100, 1}), state);
  EXPECT_EQ(state.window, before.window);
  EXPECT_GT(state.scroll, 0);
}

TEST_F(Input, WheelDoesNothingWhenTheMouseIsElsewhere) {
  apply({.x = 250, .y = 10, .hovered = false, .wheel = 3});
  EXPECT_DOUBLE_EQ(state.window.span(), 50e6);
}

TEST_F(Input, DragMovesTheTimeWithTheMouse) {
  double const under = layout().time_at(500);
  drag(500, 300, -100, 0);
  EXPECT_NEAR(layout().time_at(400), under, 1);
}

TEST_F(Input, DragOnTheRulerMarksARange) {
  drag(200, -5, 300, 0);
  ASSERT_TRUE(state.range);
  EXPECT_NEAR(state.range->begin, 20e6, 1);
  EXPECT_NEAR(state.range->end, 35e6, 1);
  EXPECT_EQ(state.window, (TimeWindow{10e6, 60e6}));
}

TEST_F(Input, ShiftDragToTheLeftMarksTheSameRange) {
  drag(500, 100, -300, 20, true);
  ASSERT_TRUE(state.range);
  EXPECT_NEAR(state.range->begin, 20e6, 1);
  EXPECT_NEAR(state.range->end, 35e6, 1);
}

TEST_F(Input, ClickOnTheRulerClearsTheRange) {
  state.range = TimeWindow{1, 2};
  click(200, -5);
  EXPECT_FALSE(state.range);
}

TEST_F(Input, ClickSelectsTheEventUnderTheMouse) {
  auto const [x, y] = find_item(ItemKind::kEvent, 8);
  click(x, y);
  ASSERT_TRUE(state.selection);
  model::Interval const when = scene.when(*state.selection);
  EXPECT_LE(static_cast<double>(when.begin), layout().time_at(x));
  EXPECT_GE(static_cast<double>(when.end), layout().time_at(x));
}

TEST_F(Input, ClickOnAnIdleGapSelectsIt) {
  Layout const laid = layout();
  for (Item const& item : laid.items) {
    if (!item.idle || item.x1 - item.x0 < 8) continue;

    click((item.x0 + item.x1) / 2, (item.y0 + item.y1) / 2);
    ASSERT_TRUE(state.selection);
    EXPECT_EQ(state.selection->what, Selection::What::kGap);
    EXPECT_EQ(paint_of(scene.analysis.gaps[state.selection->index].cause), item.paint);
    return;
  }
  FAIL() << "the run has no visible gap";
}

TEST_F(Input, ClickOnNothingClearsTheSelection) {
  state.selection = Selection{};
  click(500, layout().content_height + 20);
  EXPECT_FALSE(state.selection);
}

TEST_F(Input, AClickDoesNotMoveTheView) {
  TimeWindow const before = state.window;
  auto const [x, y] = find_item(ItemKind::kEvent, 8);
  click(x, y);
  EXPECT_EQ(state.window, before);
}

TEST_F(Input, ClickOnAGroupsNameClosesAndOpensIt) {
  Row const row = layout().rows[0];
  click(-100, (row.y0 + row.y1) / 2);
  EXPECT_TRUE(state.closed.contains(0));
  click(-100, (row.y0 + row.y1) / 2);
  EXPECT_FALSE(state.closed.contains(0));
}

TEST_F(Input, DoubleClickShowsTheEventAndKeepsItSelected) {
  auto const [x, y] = find_item(ItemKind::kEvent, 8);
  click(x, y);
  auto const selected = state.selection;
  apply({.x = x, .y = y, .hovered = true, .pressed = true, .double_clicked = true});
  apply({.x = x, .y = y, .hovered = true, .released = true});
  EXPECT_EQ(state.selection, selected);
  model::Interval const when = scene.when(*selected);
  EXPECT_NEAR(state.window.span(), static_cast<double>(when.length()) * 1.25, 2);
}

TEST_F(Input, DoubleClickOnAFoldedMarkZoomsIn) {
  state = initial_view(scene);
  auto const [x, y] = find_item(ItemKind::kDensity, 0);
  ASSERT_GE(x, 0);
  double const under = layout().time_at(x);
  apply({.x = x, .y = y, .hovered = true, .pressed = true, .double_clicked = true});
  EXPECT_LT(state.window.span(), static_cast<double>(scene.length) / 20);
  EXPECT_LE(state.window.begin, under);
  EXPECT_GE(state.window.end, under);
}

TEST_F(Input, HeldKeysZoomAndMoveByTime) {
  apply({.x = 500, .y = 10, .hovered = true, .zoom = 1, .seconds = 0.1F});
  EXPECT_LT(state.window.span(), 50e6);
  double const begin = state.window.begin;
  apply({.pan = 1, .seconds = 0.1F});
  EXPECT_GT(state.window.begin, begin);
}

TEST_F(Input, AStalledFrameDoesNotLeap) {
  ViewState stalled = state;
  apply({.pan = 1, .seconds = 0.1F});
  apply_input({.pan = 1, .seconds = 30}, scene, lay_out(scene, stalled, {1000, 600, 1}), stalled);
  EXPECT_EQ(stalled.window, state.window);
}

TEST_F(Input, ScrollingStopsAtTheLastRow) {
  Layout const small = lay_out(scene, state, {1000, 100, 1});
  for (int i = 0; i < 100; ++i)
    apply_input({.x = -5, .y = 5, .hovered = true, .wheel = -5}, scene, small, state);
  EXPECT_FLOAT_EQ(state.scroll, small.content_height - 100);
}

}  // namespace
}  // namespace stepscope::viewer
