// The lane of predicted events under the recorded ones.
#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/viewer/predicted_scenes.h"
#include "viewer/timeline/layout.h"

namespace stepscope::viewer {
namespace {

constexpr Viewport kGhostViewport{900, 5000, 1};

ViewState view_with_ghosts(Scene const& scene, PredictedScene const& predicted) {
  ViewState state = initial_view(scene);
  state.panels.what_if.nodes = predicted.ghosts->nodes();
  return state;
}

/// The naive twin: counts the events of the window by looking at all of the track.
uint64_t ghosts_in_window(Scene const& scene, GhostTrack const& ghost, TimeWindow window) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < ghost.size(); ++i) {
    auto const begin = static_cast<double>(scene.to_view(ghost.begin(i)));
    auto const end = static_cast<double>(scene.to_view(ghost.end(i)));
    bool const is_seen = begin < window.end && (end > window.begin || begin >= window.begin);
    count += is_seen ? 1 : 0;
  }
  return count;
}

TEST(GhostLayout, MakesRoomUnderTheRowsThatHaveOne) {
  Scene const scene = scene_with_late_input();
  PredictedScene const predicted(scene, "input=0");
  ViewState const plain = initial_view(scene);
  ViewState const state = view_with_ghosts(scene, predicted);

  for (uint32_t node = 0; node < scene.nodes.size(); ++node) {
    bool const has = predicted.ghosts->of_node(node) != nullptr;
    EXPECT_EQ(has_ghost(state, node), has);
    EXPECT_EQ(row_height(scene, state, node) - row_height(scene, plain, node),
              has ? kGhostHeight : 0);
  }
  EXPECT_GT(content_height(scene, state), content_height(scene, plain));
}

TEST(GhostLayout, CountsThePredictedEventsOfTheWindow) {
  Scene const scene = scene_with_late_input();
  PredictedScene const predicted(scene, "input=0");
  ViewState state = view_with_ghosts(scene, predicted);
  auto const length = static_cast<double>(scene.length);

  for (TimeWindow const& window :
       {TimeWindow{0, length}, TimeWindow{length * 0.3, length * 0.35},
        TimeWindow{length * 0.5, length * 0.5 + 1000}, TimeWindow{-length * 0.2, length * 0.1}}) {
    state.window = window;
    Layout const layout = lay_out(scene, state, kGhostViewport, nullptr, predicted.ghosts.get());
    for (uint32_t row = 0; row < layout.rows.size(); ++row) {
      GhostTrack const* const ghost = predicted.ghosts->of_node(layout.rows[row].node);
      uint64_t drawn = 0;
      for (GhostItem const& item : layout.ghosts)
        if (item.row == row) drawn += item.count;
      EXPECT_EQ(drawn, ghost == nullptr ? 0 : ghosts_in_window(scene, *ghost, window));
    }
  }
}

TEST(GhostLayout, PutsGhostsBelowTheRecordedEventsOfTheirRow) {
  Scene const scene = scene_with_late_input();
  PredictedScene const predicted(scene, "input=0");
  ViewState const state = view_with_ghosts(scene, predicted);
  Layout const layout = lay_out(scene, state, kGhostViewport, nullptr, predicted.ghosts.get());
  ASSERT_FALSE(layout.ghosts.empty());

  for (GhostItem const& ghost : layout.ghosts) {
    Row const& row = layout.rows[ghost.row];
    EXPECT_LE(ghost.y1, row.y1);
    EXPECT_LE(ghost.x0, ghost.x1);
    for (uint32_t i = row.first_item; i < row.last_item; ++i)
      EXPECT_LE(layout.items[i].y1, ghost.y0);
  }
  // As many lines as steps, on each ghost track.
  size_t rows = 0;
  for (Row const& row : layout.rows) rows += has_ghost(state, row.node) ? 1 : 0;
  EXPECT_GT(layout.ghost_steps.size(), rows);
}

TEST(GhostLayout, DrawsUnchangedEventsUnderTheRecordedOnes) {
  Scene const scene = scene_with_late_input();
  PredictedScene const predicted(scene, "");
  ViewState const state = view_with_ghosts(scene, predicted);
  Layout const layout = lay_out(scene, state, kGhostViewport, nullptr, predicted.ghosts.get());

  for (uint32_t number = 0; number < layout.rows.size(); ++number) {
    Row const& row = layout.rows[number];
    if (scene.nodes[row.node].kind != NodeKind::kStream) continue;
    uint32_t i = row.first_item;
    for (GhostItem const& ghost : layout.ghosts) {
      if (ghost.row != number) continue;
      // A wait for another stream is recorded, and is no work that is predicted.
      while (i < row.last_item && layout.items[i].x0 != ghost.x0) ++i;
      ASSERT_LT(i, row.last_item);
      EXPECT_EQ(ghost.x1, layout.items[i].x1);
      EXPECT_EQ(ghost.count, layout.items[i].count);
      EXPECT_EQ(ghost.paint, layout.items[i].paint);
      ++i;
    }
  }
}

TEST(GhostLayout, FindsTheGhostUnderTheMouse) {
  Scene const scene = scene_with_late_input();
  PredictedScene const predicted(scene, "input=0");
  ViewState const state = view_with_ghosts(scene, predicted);
  Layout const layout = lay_out(scene, state, kGhostViewport, nullptr, predicted.ghosts.get());
  ASSERT_FALSE(layout.ghosts.empty());

  GhostItem const& some = layout.ghosts[layout.ghosts.size() / 2];
  float const y = (some.y0 + some.y1) / 2;
  GhostItem const* const found = ghost_at(layout, std::floor(some.x0), y);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->row, some.row);
  EXPECT_FALSE(hit_test(layout, std::floor(some.x0), y)->item);
  EXPECT_EQ(ghost_at(layout, some.x0, -5), nullptr);
}

TEST(GhostLayout, HasNoneWithoutAPrediction) {
  Scene const scene = scene_with_late_input();
  Layout const layout = lay_out(scene, initial_view(scene), kGhostViewport);
  EXPECT_TRUE(layout.ghosts.empty());
  EXPECT_TRUE(layout.ghost_steps.empty());
}

}  // namespace
}  // namespace stepscope::viewer
