// Tracks that are moved by dragging their names.
#include "viewer/timeline/track_drag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/viewer/null_ui.h"
#include "tests/unit/viewer/scenes.h"
#include "viewer/interaction/navigate.h"
#include "viewer/scene/track_choice.h"
#include "viewer/timeline/input.h"

namespace stepscope::viewer {
namespace {

Scene const& ranks_to_drag() {
  static Scene const kScene =
      synthetic_scene({.devices = 4, .steps = 3, .process_per_device = true});
  return kScene;
}

class TrackDrag : public testing::Test {
 protected:
  [[nodiscard]] Layout layout() const { return lay_out(scene, state, {1000, 4000, 1}); }
  void apply(TimelineInput const& input) { apply_input(input, scene, layout(), state); }
  [[nodiscard]] std::vector<std::string> ranks() const {
    std::vector<std::string> result;
    for (ShownTrack const& track : shown_tracks(scene, state))
      if (scene.nodes[track.node].kind == NodeKind::kRank)
        result.push_back(scene.nodes[track.node].path);
    return result;
  }
  [[nodiscard]] uint32_t node(std::string const& path) const { return *node_of_path(scene, path); }
  /// The row of a node in the layout.
  [[nodiscard]] Row row(uint32_t of, bool pinned = false) const {
    for (Row const& each : layout().rows)
      if (each.node == of && each.pinned == pinned) return each;
    ADD_FAILURE() << "no row of " << of;
    return {};
  }
  /// Button down on a name, moved so that the mouse is at y; still down.
  void grab(uint32_t of, float to_y, bool pinned = false) {
    Row const from = row(of, pinned);
    float const y = (from.y0 + from.y1) / 2;
    apply({.x = -100, .y = y, .hovered = true, .pressed = true});
    apply({.x = -90, .y = to_y, .hovered = true, .dragging = true, .dx = 10, .dy = to_y - y});
  }
  void release(float y) {
    apply({.x = -90, .y = y, .hovered = true, .released = true, .dragging = true});
  }
  void drag(uint32_t of, float to_y, bool pinned = false) {
    grab(of, to_y, pinned);
    release(to_y);
  }

  Scene const& scene = ranks_to_drag();
  ViewState state = open_view(scene);
};

TEST_F(TrackDrag, ARankGoesAboveTheOneInWhoseUpperHalfItIsReleased) {
  drag(node("Rank 3"), row(node("Rank 1")).y0 + 2);
  EXPECT_THAT(ranks(), testing::ElementsAre("Rank 0", "Rank 3", "Rank 1", "Rank 2"));
}

TEST_F(TrackDrag, GoesBelowTheLastWithAllThatIsOpenInIt) {
  drag(node("Rank 0"), layout().content_height - 1);
  EXPECT_THAT(ranks(), testing::ElementsAre("Rank 1", "Rank 2", "Rank 3", "Rank 0"));
  // And back to the top.
  drag(node("Rank 0"), 0);
  EXPECT_THAT(ranks(), testing::ElementsAre("Rank 0", "Rank 1", "Rank 2", "Rank 3"));
}

TEST_F(TrackDrag, IsTheMoveOfTheMenu) {
  ViewState by_menu = state;
  ASSERT_TRUE(move_track(by_menu, scene, node("Rank 2"), -1));
  drag(node("Rank 2"), row(node("Rank 1")).y0 + 2);
  EXPECT_EQ(state.tracks, by_menu.tracks);
}

TEST_F(TrackDrag, StaysWithinItsGroup) {
  uint32_t const rank = node("Rank 1");
  uint32_t const device = rank + 1;
  ASSERT_EQ(scene.nodes[device].kind, NodeKind::kDevice);
  uint32_t const stream = device + 1;
  ASSERT_GT(scene.nodes[device].subtree_end, stream + 1) << "one stream has no neighbour";

  auto const moved = [&](float y) {
    drag(stream, y);
    auto const shown = shown_tracks(scene, state);
    std::vector<uint32_t> members;
    for (ShownTrack const& track : shown)
      if (parent_of(scene, track.node) == device) members.push_back(track.node);
    return members;
  };

  // Far below the group: the last of it.
  EXPECT_EQ(moved(layout().content_height - 1).back(), stream);
  EXPECT_EQ(moved(0).front(), stream);
  EXPECT_THAT(ranks(), testing::ElementsAre("Rank 0", "Rank 1", "Rank 2", "Rank 3"));
}

TEST_F(TrackDrag, WhereItStandsNothingChanges) {
  grab(node("Rank 1"), row(node("Rank 1")).y1 + 4);
  EXPECT_FALSE(drop_place(scene, state.drag, layout()));
  release(row(node("Rank 1")).y1 + 4);
  EXPECT_TRUE(state.tracks.order.empty());
  EXPECT_FALSE(state.closed.contains(node("Rank 1"))) << "a drag is no click";
}

TEST_F(TrackDrag, AClickWithoutMovingOpensAndClosesAsBefore) {
  Row const of = row(node("Rank 1"));
  float const y = (of.y0 + of.y1) / 2;
  for (bool const closed : {true, false}) {
    apply({.x = -100, .y = y, .hovered = true, .pressed = true});
    apply({.x = -100, .y = y, .hovered = true, .released = true});
    EXPECT_EQ(state.closed.contains(node("Rank 1")), closed);
  }
}

TEST_F(TrackDrag, HiddenOnesDoNotComeBetween) {
  hide(state, scene, node("Rank 1"));
  drag(node("Rank 3"), row(node("Rank 2")).y0 + 1);
  EXPECT_THAT(ranks(), testing::ElementsAre("Rank 0", "Rank 3", "Rank 2"));
  show_all_tracks(state);
  EXPECT_THAT(ranks(), testing::ElementsAre("Rank 0", "Rank 1", "Rank 3", "Rank 2"));
}

TEST_F(TrackDrag, PinnedRowsMoveAmongThePinned) {
  state.tracks.pinned = {"Rank 0", "Rank 1", "Rank 2"};
  drag(node("Rank 2"), 1, true);
  EXPECT_THAT(state.tracks.pinned, testing::ElementsAre("Rank 2", "Rank 0", "Rank 1"));
  drag(node("Rank 2"), layout().pinned_height - 1, true);
  EXPECT_THAT(state.tracks.pinned, testing::ElementsAre("Rank 0", "Rank 1", "Rank 2"));
  EXPECT_TRUE(state.tracks.order.empty());
}

TEST_F(TrackDrag, RowsScrollWhileTheMouseIsAtTheEdge) {
  Layout const small = lay_out(scene, state, {1000, 100, 1});
  apply_input({.x = -100, .y = 10, .hovered = true, .pressed = true}, scene, small, state);
  apply_input({.x = -100, .y = 99, .hovered = true, .dragging = true, .dy = 89, .seconds = 0.05F},
              scene, small, state);
  EXPECT_GT(state.scroll, 0);
  float const scrolled = state.scroll;
  apply_input({.x = -100, .y = 50, .hovered = true, .dragging = true, .dy = -49, .seconds = 0.05F},
              scene, small, state);
  EXPECT_EQ(state.scroll, scrolled);
}

/// A drag with the mouse in the whole window.
TEST(UiTrackDrag, ShowsWhereItGoesAndEscapeCancels) {
  Scene const& scene = ranks_to_drag();
  NullUi ui;
  ViewState state = open_view(scene);
  close_all_ranks(state, scene);
  ui.frames(scene, state, 3);

  // The first rank's name is the first row below the ruler; the others follow in rows of the same
  // height.
  float const first = 190;
  auto const begin = [&] {
    ui.move(60, first);
    ui.frames(scene, state, 2);
    ui.button(true);
    ui.frames(scene, state);
    ui.move(60, first + 2 * kRankHeight + 8);
    ui.frames(scene, state, 2);
  };

  size_t const before = static_cast<size_t>(ImGui::GetDrawData()->TotalVtxCount);
  begin();
  EXPECT_EQ(state.drag.mode, Drag::Mode::kTrack);
  EXPECT_TRUE(state.drag.is_moving);
  EXPECT_GT(static_cast<size_t>(ImGui::GetDrawData()->TotalVtxCount), before);

  ui.press(scene, state, Key::kEscape);
  EXPECT_EQ(state.drag.mode, Drag::Mode::kNone);
  ui.move(60, first + 3 * kRankHeight);
  ui.frames(scene, state);
  ui.button(false);
  ui.frames(scene, state, 2);
  EXPECT_TRUE(state.tracks.order.empty());

  // Past the double-click time.
  ImGui::GetIO().DeltaTime = 1;
  ui.frames(scene, state);
  ImGui::GetIO().DeltaTime = 1.0F / 60;

  begin();
  ui.button(false);
  ui.frames(scene, state, 2);
  ASSERT_TRUE(state.tracks.order.contains(""));
  EXPECT_THAT(state.tracks.order.at(""),
              testing::ElementsAre("Rank 1", "Rank 2", "Rank 0", "Rank 3"));
  EXPECT_TRUE(state.closed.contains(0)) << "a drag is no click";
}

}  // namespace
}  // namespace stepscope::viewer
