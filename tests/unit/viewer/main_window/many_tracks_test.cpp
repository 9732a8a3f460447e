// Runs of a hundred thousand tracks: a frame costs what the screen holds.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/viewer/null_ui.h"
#include "tests/unit/viewer/scenes.h"
#include "viewer/interaction/navigate.h"
#include "viewer/scene/shown_rows.h"
#include "viewer/scene/track_choice.h"
#include "viewer/timeline/layout.h"

namespace stepscope::viewer {
namespace {

constexpr Viewport kScreen{900, 600, 1};

/// `ranks` processes with so many threads each, an event a thread.
Scene scene_of_threads(int ranks, int threads) {
  model::Run run;
  run.name = "many";

  for (int32_t rank = 0; rank < ranks; ++rank) {
    model::TraceBuilder builder;
    builder.info().rank = rank;
    builder.info().world_size = ranks;
    auto const name = builder.intern("range");
    for (int i = 0; i < threads; ++i)
      builder.events(add_thread(builder, "thread " + std::to_string(i)))
          .add(model::EventKind::kRange, i, 1000 + i, name);
    run.ranks.push_back(
        {std::move(builder).finish(), 0, "rank-" + std::to_string(rank) + ".stepscope"});
  }

  return analyzed(std::move(run));
}

Scene const& threads_of_one_rank() {
  static Scene const kScene = scene_of_threads(1, 100'000);
  return kScene;
}
Scene const& threads_of_many_ranks() {
  static Scene const kScene = scene_of_threads(1000, 100);
  return kScene;
}

/// At most what the screen holds, whatever the run has.
void expect_a_screenful(Scene const& scene, ViewState const& state) {
  Layout const layout = lay_out(scene, state, kScreen);
  EXPECT_LE(static_cast<float>(layout.rows.size()), kScreen.height / kLaneHeight + 2);
  EXPECT_LE(static_cast<float>(layout.items.size()),
            static_cast<float>(layout.rows.size()) * kScreen.width);
  EXPECT_GT(layout.rows.size(), 5U);
}

TEST(ManyTracks, AFrameLooksAtTheRowsOfTheScreenAlone) {
  for (Scene const* const scene : {&threads_of_one_rank(), &threads_of_many_ranks()}) {
    ViewState state = open_view(*scene);
    expect_a_screenful(*scene, state);

    float const content = content_height(*scene, state);
    open_all(state);
    float const all = content_height(*scene, state);
    EXPECT_GE(all, content);
    EXPECT_GT(all, 100'000 * kLaneHeight);

    for (float const share : {0.3F, 0.99F}) {
      state.scroll = std::round((all - kScreen.height) * share);
      expect_a_screenful(*scene, state);
    }

    state.scroll = all - kScreen.height;
    Layout const layout = lay_out(*scene, state, kScreen);
    EXPECT_EQ(layout.rows.back().node, scene->nodes.size() - 1);
    EXPECT_NEAR(layout.rows.back().y1, kScreen.height, 2);
  }
}

TEST(ManyTracks, TheRowsAreMadeAgainOnlyWhenTheyChange) {
  Scene const& scene = threads_of_many_ranks();
  NullUi ui;
  ViewState state = open_view(scene);
  ui.frames(scene, state, 2);

  uint64_t const made = shown_rows_made();
  ui.frames(scene, state, 5);
  state.scroll = 5000;
  zoom(state, scene, 0.5, 0.5);
  ui.move(500, 300);
  ui.frames(scene, state, 5);
  EXPECT_EQ(shown_rows_made(), made);
  state.closed.insert(0);
  ui.frames(scene, state, 3);
  EXPECT_EQ(shown_rows_made(), made + 1);

  state.tracks.hidden.insert("Rank 7");
  ui.frames(scene, state, 3);
  EXPECT_EQ(shown_rows_made(), made + 2);
}

TEST(ManyTracks, NoMoreIsDrawnThanOfTwoHundred) {
  auto const vertices = [](Scene const& scene) {
    NullUi ui;
    ViewState state = open_view(scene);
    open_all(state);
    ui.frames(scene, state, 3);
    return ImGui::GetDrawData()->TotalVtxCount;
  };

  int const few = vertices(scene_of_threads(1, 200));
  // Longer numbers in the labels.
  EXPECT_LT(vertices(threads_of_one_rank()), few + few / 10);
  EXPECT_LT(vertices(threads_of_many_ranks()), few + few / 10);
}

TEST(ManyTracks, AreFoundFilteredPinnedMovedAndShown) {
  Scene const& scene = threads_of_one_rank();
  NullUi ui;
  ViewState state = open_view(scene);
  uint32_t const last = static_cast<uint32_t>(scene.nodes.size() - 1);
  EXPECT_EQ(scene.node_of_track(0, scene.nodes[last].track), last);

  reveal(state, scene, last, 400);
  ui.frames(scene, state, 2);
  auto const [top, bottom] = node_extent(scene, state, last);
  EXPECT_GE(top, state.scroll);
  EXPECT_LE(bottom, state.scroll + 400);

  toggle_pin(state, scene, last);
  ASSERT_TRUE(move_track(state, scene, last, -1));
  EXPECT_EQ(shown_rows(scene, state)->tracks.back().node, last - 1);
  EXPECT_EQ(shown_rows(scene, state)->pinned, std::vector<uint32_t>{last});

  state.tracks.filter = "thread 77777";
  EXPECT_EQ(shown_rows(scene, state)->tracks.size(), 2U) << "it and its rank";
  ui.frames(scene, state, 3);
}

TEST(ShownRows, AreThoseOfTheTreeWithTheirHeights) {
  Scene const scene = synthetic_scene({.devices = 3, .steps = 3, .process_per_device = true});
  ViewState state = open_view(scene);
  state.closed = {scene.rank_nodes[1]};
  state.tracks.hidden = {"Rank 2"};
  state.tracks.pinned = {"Rank 1", "Rank 0"};

  auto const rows = shown_rows(scene, state);
  auto const tracks = shown_tracks(scene, state);
  ASSERT_EQ(rows->tracks.size(), tracks.size());
  ASSERT_EQ(rows->tops.size(), tracks.size() + 1);

  for (size_t i = 0; i < tracks.size(); ++i) {
    EXPECT_EQ(rows->tracks[i].node, tracks[i].node);
    EXPECT_EQ(rows->tracks[i].open, tracks[i].open);
    EXPECT_EQ(rows->tops[i + 1] - rows->tops[i], node_height(scene.nodes[tracks[i].node]));
  }

  EXPECT_EQ(rows->pinned, pinned_tracks(scene, state.tracks));
  EXPECT_EQ(rows->hidden, 1U);
  EXPECT_EQ(shown_rows(scene, state), rows);
}

TEST(SceneNodes, OfTracksAndDevicesAreFoundByTheirNumbers) {
  Scene const scene = synthetic_scene({.devices = 3, .steps = 3, .process_per_device = true});
  for (uint32_t i = 0; i < scene.nodes.size(); ++i) {
    Node const& node = scene.nodes[i];
    std::optional<uint32_t> found = i;
    if (node.kind == NodeKind::kRank) found = scene.rank_nodes[node.rank];
    if (node.kind == NodeKind::kStream || node.kind == NodeKind::kThread)
      found = scene.node_of_track(node.rank, node.track);
    if (node.kind == NodeKind::kDevice)
      found = scene.node_of_device(scene.analysis.devices[*node.device].ref);
    EXPECT_EQ(found, i) << node.path;
  }

  EXPECT_FALSE(scene.node_of_track(0, 9999));
  EXPECT_FALSE(scene.node_of_track(99, 0));
  EXPECT_FALSE(scene.node_of_device({-1, 0}));
  EXPECT_FALSE(scene.node_of_device({99, 0}));
  EXPECT_FALSE(scene.node_of_device({0, 99}));
}

}  // namespace
}  // namespace stepscope::viewer
