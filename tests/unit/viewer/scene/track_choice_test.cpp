#include "viewer/scene/track_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/viewer/scenes.h"
#include "viewer/interaction/navigate.h"
#include "viewer/timeline/input.h"
#include "viewer/timeline/layout.h"

namespace stepscope::viewer {
namespace {

Scene const& four_ranks() {
  static Scene const kScene =
      synthetic_scene({.devices = 4, .steps = 3, .process_per_device = true});
  return kScene;
}

std::vector<uint32_t> nodes_of(std::vector<ShownTrack> const& tracks) {
  std::vector<uint32_t> nodes;
  for (ShownTrack const& track : tracks) nodes.push_back(track.node);
  return nodes;
}

uint32_t rank_node(uint32_t rank) {
  return *node_of_path(four_ranks(), "Rank " + std::to_string(rank));
}

uint32_t node_of_kind(NodeKind kind, uint32_t rank) {
  auto const& nodes = four_ranks().nodes;
  auto const found = std::find_if(nodes.begin(), nodes.end(), [&](Node const& node) {
    return node.kind == kind && node.rank == rank;
  });
  return static_cast<uint32_t>(found - nodes.begin());
}

TEST(TrackPaths, AreTheLabelsFromTheRankDown) {
  uint32_t const stream = node_of_kind(NodeKind::kStream, 2);
  uint32_t const device = *parent_of(four_ranks(), stream);
  EXPECT_EQ(four_ranks().nodes[stream].path,
            "Rank 2/" + four_ranks().nodes[device].label + "/" + four_ranks().nodes[stream].label);
  EXPECT_EQ(parent_of(four_ranks(), device), rank_node(2));
  EXPECT_FALSE(parent_of(four_ranks(), rank_node(2)));
}

TEST(TrackPaths, AreDistinctWhateverTheLabelsAre) {
  Scene const scene = scene_of([](model::TraceBuilder& builder) {
    for (char const* name : {"t", "t", "t#2", "t", "t#2", "t#2#2", ""})
      builder.events(add_thread(builder, name))
          .add(model::EventKind::kRange, 0, 100, builder.intern("r"));
  });
  std::set<std::string> paths;
  for (Node const& node : scene.nodes) EXPECT_TRUE(paths.insert(node.path).second) << node.path;
  EXPECT_TRUE(paths.contains("Rank 0/t"));
  EXPECT_TRUE(paths.contains("Rank 0/t#2"));
}

TEST(AdoptedChoice, LeavesTracksThatOnlyThisRunHasBesideTheirNeighbours) {
  using Names = std::vector<std::string>;
  TrackChoice other;
  other.order[""] = Names{"Rank 2", "Rank 0"};
  other.order["Rank 9"] = Names{"Rank 9/a", "Rank 9/b"};
  other.pinned = Names{"Rank 0"};

  // Rank 1 follows rank 0 in the run's own order, rank 3 follows rank 2.
  TrackChoice const adopted = adopted_choice(four_ranks(), {}, other);
  EXPECT_EQ(adopted.order.at(""), (Names{"Rank 2", "Rank 3", "Rank 0", "Rank 1"}));
  EXPECT_EQ(adopted.order.at("Rank 9"), other.order.at("Rank 9"));
  EXPECT_EQ(adopted.pinned, other.pinned);

  TrackChoice own;
  own.order[""] = Names{"Rank 3", "Rank 1", "Rank 0", "Rank 2"};
  EXPECT_EQ(adopted_choice(four_ranks(), own, other).order.at(""),
            (Names{"Rank 3", "Rank 1", "Rank 2", "Rank 0"}));

  // Groups without an order in the other run have none here.
  EXPECT_TRUE(adopted_choice(four_ranks(), own, {}).order.empty());
}

TEST(TrackPaths, AreTheSameWhenTheRunIsOpenedAgain) {
  Scene const again = synthetic_scene({.devices = 4, .steps = 3, .process_per_device = true});
  ASSERT_EQ(again.nodes.size(), four_ranks().nodes.size());
  for (size_t i = 0; i < again.nodes.size(); ++i)
    EXPECT_EQ(again.nodes[i].path, four_ranks().nodes[i].path);
}

TEST(TrackWords, AreLookedForInAnyCaseAndNumbersAsAWhole) {
  EXPECT_TRUE(has_words("Rank 3/Device 0/Stream 7", "stream RANK 3"));
  EXPECT_TRUE(has_words("Rank 3/Device 0/Stream 7", "  "));
  EXPECT_TRUE(has_words("Rank 13/Device 1", "rank 1"));
  EXPECT_FALSE(has_words("Rank 13/Device 0", "rank 1"));
  EXPECT_FALSE(has_words("Rank 31/Device 0", "1"));
  EXPECT_TRUE(has_words("Rank 0/Device 0 · H100", "h100"));
  EXPECT_FALSE(has_words("", "x"));
}

TEST(ShownTracks, WithoutAChoiceAreTheTreeWithoutWhatIsClosed) {
  ViewState state = open_view(four_ranks());
  state.closed = {rank_node(1), node_of_kind(NodeKind::kDevice, 2)};
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < four_ranks().nodes.size();) {
    expected.push_back(i);
    i = state.closed.contains(i) ? four_ranks().nodes[i].subtree_end : i + 1;
  }
  EXPECT_EQ(nodes_of(shown_tracks(four_ranks(), state)), expected);
}

TEST(ShownTracks, LeaveOutWhatIsHiddenWithWhatIsBelowIt) {
  ViewState state = open_view(four_ranks());
  size_t const all = shown_tracks(four_ranks(), state).size();

  hide(state, four_ranks(), rank_node(1));
  Node const& rank = four_ranks().nodes[rank_node(1)];
  auto const shown = nodes_of(shown_tracks(four_ranks(), state));
  EXPECT_EQ(shown.size(), all - (rank.subtree_end - rank_node(1)));
  for (uint32_t i = rank_node(1); i < rank.subtree_end; ++i)
    EXPECT_THAT(shown, testing::Not(testing::Contains(i)));
  EXPECT_EQ(count_hidden(four_ranks(), state.tracks), 1U);

  show_all_tracks(state);
  EXPECT_EQ(shown_tracks(four_ranks(), state).size(), all);
  EXPECT_EQ(count_hidden(four_ranks(), state.tracks), 0U);
}

TEST(ShownTracks, HiddenOnesThatTheRunHasNotAreNotCounted) {
  ViewState state = open_view(four_ranks());
  state.tracks.hidden = {"Rank 99", "Rank 0"};
  EXPECT_EQ(count_hidden(four_ranks(), state.tracks), 1U);
}

TEST(ShownTracks, OthersOfAKindCanBeHidden) {
  ViewState state = open_view(four_ranks());
  hide_others(state, four_ranks(), rank_node(2));
  for (uint32_t const node : nodes_of(shown_tracks(four_ranks(), state)))
    EXPECT_EQ(four_ranks().nodes[node].rank, 2U);
  EXPECT_EQ(count_hidden(four_ranks(), state.tracks), 3U);
}

TEST(ShownTracks, AFilterKeepsWhatMatchesWithTheGroupsAroundIt) {
  ViewState state = open_view(four_ranks());
  close_all_ranks(state, four_ranks());
  uint32_t const stream = node_of_kind(NodeKind::kStream, 3);
  state.tracks.filter = "rank 3 " + four_ranks().nodes[stream].label;

  auto const shown = shown_tracks(four_ranks(), state);
  auto const nodes = nodes_of(shown);
  EXPECT_THAT(nodes, testing::Contains(stream));
  EXPECT_THAT(nodes, testing::Contains(rank_node(3)));

  for (ShownTrack const& track : shown) {
    Node const& node = four_ranks().nodes[track.node];
    EXPECT_EQ(node.rank, 3U);
    bool const matches = has_words(node.path, state.tracks.filter);
    if (!matches) {
      EXPECT_TRUE(track.open) << node.path;
      EXPECT_GT(node.subtree_end, track.node + 1) << node.path;
    }
  }

  state.tracks.filter = "nothing has this name";
  EXPECT_TRUE(shown_tracks(four_ranks(), state).empty());
  EXPECT_EQ(lay_out(four_ranks(), state, {600, 400, 1}).rows.size(), 0U);
}

TEST(ShownTracks, MoveAmongTheirSiblingsOnly) {
  ViewState state = open_view(four_ranks());
  auto const ranks = [&] {
    std::vector<uint32_t> result;
    for (uint32_t const node : nodes_of(shown_tracks(four_ranks(), state)))
      if (four_ranks().nodes[node].kind == NodeKind::kRank)
        result.push_back(four_ranks().nodes[node].rank);
    return result;
  };

  size_t const all = shown_tracks(four_ranks(), state).size();
  EXPECT_FALSE(move_track(state, four_ranks(), rank_node(0), -1));
  EXPECT_TRUE(move_track(state, four_ranks(), rank_node(2), -1));
  EXPECT_THAT(ranks(), testing::ElementsAre(0U, 2U, 1U, 3U));
  EXPECT_TRUE(move_track(state, four_ranks(), rank_node(2), -1));
  EXPECT_THAT(ranks(), testing::ElementsAre(2U, 0U, 1U, 3U));
  EXPECT_FALSE(can_move(state, four_ranks(), rank_node(2), -1));
  EXPECT_TRUE(move_track(state, four_ranks(), rank_node(2), 1));
  EXPECT_THAT(ranks(), testing::ElementsAre(0U, 2U, 1U, 3U));
  EXPECT_EQ(shown_tracks(four_ranks(), state).size(), all);

  // A track moves past hidden tracks to the next visible one.
  hide(state, four_ranks(), rank_node(2));
  EXPECT_TRUE(move_track(state, four_ranks(), rank_node(1), -1));
  EXPECT_THAT(ranks(), testing::ElementsAre(1U, 0U, 3U));
}

TEST(ShownTracks, AnOrderThatNamesSomeLetsTheOthersFollow) {
  ViewState state = open_view(four_ranks());
  close_all_ranks(state, four_ranks());
  state.tracks.order[""] = {"Rank 3", "Rank 77", "Rank 1", "Rank 3"};
  EXPECT_THAT(nodes_of(shown_tracks(four_ranks(), state)),
              testing::ElementsAre(rank_node(3), rank_node(1), rank_node(0), rank_node(2)));
}

TEST(PinnedTracks, KeepTheirOrderAndForgetWhatIsNotThere) {
  ViewState state = open_view(four_ranks());
  toggle_pin(state, four_ranks(), rank_node(3));
  toggle_pin(state, four_ranks(), rank_node(1));
  state.tracks.pinned.insert(state.tracks.pinned.begin(), "Rank 99");
  EXPECT_THAT(pinned_tracks(four_ranks(), state.tracks),
              testing::ElementsAre(rank_node(3), rank_node(1)));
  EXPECT_TRUE(is_pinned(state, four_ranks(), rank_node(1)));

  toggle_pin(state, four_ranks(), rank_node(3));
  EXPECT_THAT(pinned_tracks(four_ranks(), state.tracks), testing::ElementsAre(rank_node(1)));

  hide(state, four_ranks(), rank_node(1));
  EXPECT_TRUE(pinned_tracks(four_ranks(), state.tracks).empty());
}

class PinnedLayout : public testing::Test {
 protected:
  void SetUp() override { toggle_pin(state, four_ranks(), stream); }
  uint32_t const stream = node_of_kind(NodeKind::kStream, 2);
  ViewState state = open_view(four_ranks());
  Viewport const viewport{800, 300, 1};
};

TEST_F(PinnedLayout, StaysAtTheTopWhileTheRestScrolls) {
  for (float const scroll : {0.0F, 57.0F, 200.0F}) {
    state.scroll = scroll;
    Layout const layout = lay_out(four_ranks(), state, viewport);
    ASSERT_FALSE(layout.rows.empty());
    EXPECT_TRUE(layout.rows[0].pinned);
    EXPECT_EQ(layout.rows[0].node, stream);
    EXPECT_EQ(layout.rows[0].y0, 0);
    EXPECT_EQ(layout.rows[0].y1, layout.pinned_height);
    EXPECT_GT(layout.rows[0].last_item, layout.rows[0].first_item);

    for (size_t i = 1; i < layout.rows.size(); ++i) {
      EXPECT_FALSE(layout.rows[i].pinned);
      EXPECT_GT(layout.rows[i].y1, layout.pinned_height);
    }
    EXPECT_EQ(layout.rows[1].y0 - layout.pinned_height <= 0, true);
  }
}

TEST_F(PinnedLayout, IsHitBeforeWhatScrollsUnderIt) {
  state.scroll = 10;
  Layout const layout = lay_out(four_ranks(), state, viewport);
  EXPECT_TRUE(layout.rows[hit_test(layout, 100, 5)->row].pinned);
  EXPECT_FALSE(layout.rows[hit_test(layout, 100, layout.pinned_height + 1)->row].pinned);
}

TEST_F(PinnedLayout, LeavesRoomForTheOthers) {
  for (uint32_t i = 0; i < four_ranks().nodes.size(); ++i)
    if (!is_pinned(state, four_ranks(), i)) toggle_pin(state, four_ranks(), i);
  Layout const layout = lay_out(four_ranks(), state, viewport);
  EXPECT_LE(layout.pinned_height, viewport.height * 0.6F);
  EXPECT_EQ(layout.pinned_height, pinned_height(four_ranks(), state, viewport.height));
  EXPECT_FALSE(layout.rows.back().pinned);
  EXPECT_FALSE(layout.rows[hit_test(layout, 10, layout.pinned_height + 1)->row].pinned);
}

TEST_F(PinnedLayout, RevealShowsTheRowBelowThePinnedOnes) {
  uint32_t const last = static_cast<uint32_t>(four_ranks().nodes.size() - 1);
  reveal(state, four_ranks(), last, viewport.height);
  Layout const layout = lay_out(four_ranks(), state, viewport);
  auto const row = std::find_if(layout.rows.begin(), layout.rows.end(),
                                [&](Row const& each) { return each.node == last && !each.pinned; });
  ASSERT_NE(row, layout.rows.end());
  EXPECT_GE(row->y0, layout.pinned_height);
  EXPECT_LE(row->y1, viewport.height);
}

TEST_F(PinnedLayout, AClickOnItsNameGoesToTheTrackAmongItsNeighbours) {
  state.closed.insert(rank_node(2));
  Layout const layout = lay_out(four_ranks(), state, viewport);
  apply_input({.x = -50, .y = 5, .hovered = true, .pressed = true}, four_ranks(), layout, state);
  apply_input({.x = -50, .y = 5, .hovered = true, .released = true}, four_ranks(), layout, state);
  EXPECT_FALSE(state.closed.contains(rank_node(2)));
}

TEST_F(PinnedLayout, OutlinesOfTheSelectionDoNotLieOverIt) {
  auto const& columns = four_ranks().trace(2).columns();
  uint32_t row = 0;
  while (columns.track[row].value != four_ranks().nodes[stream].track) ++row;
  state.selection = Selection{Selection::What::kEvent, 2, row};

  for (float scroll = 0; scroll < 400; scroll += 7) {
    state.scroll = scroll;
    Layout const layout = lay_out(four_ranks(), state, viewport);
    for (Item const& item : layout.related) {
      bool const on_pinned = item.y1 <= layout.pinned_height;
      EXPECT_TRUE(on_pinned || item.y0 >= layout.pinned_height) << scroll;
    }
  }
}

TEST(RevealTrack, ShowsWhatWasHiddenOrFilteredAway) {
  ViewState state = open_view(four_ranks());
  uint32_t const stream = node_of_kind(NodeKind::kStream, 1);
  hide(state, four_ranks(), rank_node(1));
  hide(state, four_ranks(), stream);
  hide(state, four_ranks(), rank_node(3));
  state.tracks.filter = "rank 2";
  reveal(state, four_ranks(), stream, 300);
  EXPECT_THAT(nodes_of(shown_tracks(four_ranks(), state)), testing::Contains(stream));
  EXPECT_EQ(count_hidden(four_ranks(), state.tracks), 1U);
}

}  // namespace
}  // namespace stepscope::viewer
