// Communicators of out-of-core runs. After the analysis they have the same rows as in memory, and
// marks where no events were read; the view stays what it was when the rows come.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "tests/unit/viewer/event_store/out_of_core/out_of_core_scenes.h"
#include "tests/unit/viewer/null_ui.h"
#include "tests/unit/viewer/scene/communicator_scenes.h"
#include "tests/unit/viewer/scenes.h"
#include "viewer/interaction/view_rebase.h"
#include "viewer/scene/track_choice.h"

namespace stepscope::viewer {
namespace {

constexpr Viewport kCommunicatorArea{900, 3000, 1};

class OutOfCoreCommunicators : public OutOfCoreTest {};

/// The fields of the nodes that do not depend on where the events are kept.
std::vector<std::tuple<NodeKind, std::string, std::string, uint32_t, uint32_t>> tree_of(
    Scene const& scene) {
  std::vector<std::tuple<NodeKind, std::string, std::string, uint32_t, uint32_t>> tree;
  for (Node const& node : scene.nodes)
    tree.emplace_back(node.kind, node.path, node.note, node.lane_count, node.subtree_end);
  return tree;
}

std::vector<Item> items_of(Scene const& scene, Layout const& layout, NodeKind kind) {
  std::vector<Item> found;
  for (Row const& row : layout.rows)
    if (scene.nodes[row.node].kind == kind)
      found.insert(found.end(), layout.items.begin() + row.first_item,
                   layout.items.begin() + row.last_item);
  return found;
}

TEST_F(OutOfCoreCommunicators, HaveTheRowsThatTheyHaveInMemory) {
  write(two_schemes());
  auto const scene = open_out_of_core();
  for (Node const& node : scene->nodes)
    EXPECT_NE(node.kind, NodeKind::kCommunicator) << "nothing is known of them yet";
  analyze(*scene);
  EXPECT_EQ(tree_of(*scene), tree_of(open_in_memory()));
}

TEST_F(OutOfCoreCommunicators, NoteTheirRanksOnStreamsThatTellThemApart) {
  write(support::make_synthetic_run({.devices = 4, .steps = 6, .process_per_device = true}));
  auto const scene = open_out_of_core();
  analyze(*scene);
  EXPECT_EQ(tree_of(*scene), tree_of(open_in_memory()));
  EXPECT_EQ(std::count_if(scene->nodes.begin(), scene->nodes.end(),
                          [](Node const& node) { return node.note == "Ranks 0–3"; }),
            4);
}

TEST_F(OutOfCoreCommunicators, ShowTheEventsThatWereRead) {
  write(two_schemes());
  auto const out_of_core_scene = open_out_of_core();
  analyze(*out_of_core_scene);

  Scene const in_memory_scene = open_in_memory();
  ViewState const state = open_view(in_memory_scene);
  Layout const expected = lay_out(in_memory_scene, state, kCommunicatorArea);
  Layout const shown = settled(*out_of_core_scene, state, kCommunicatorArea);

  auto const in_memory_items = items_of(in_memory_scene, expected, NodeKind::kCommunicator);
  auto const summary_items = items_of(*out_of_core_scene, shown, NodeKind::kCommunicator);
  ASSERT_EQ(in_memory_items.size(), 4U * 30U);
  ASSERT_EQ(summary_items.size(), in_memory_items.size());
  for (size_t i = 0; i < in_memory_items.size(); ++i) {
    EXPECT_EQ(summary_items[i].kind, ItemKind::kEvent);
    EXPECT_EQ(std::tuple(summary_items[i].node, summary_items[i].x0, summary_items[i].x1,
                         summary_items[i].y0),
              std::tuple(in_memory_items[i].node, in_memory_items[i].x0, in_memory_items[i].x1,
                         in_memory_items[i].y0));
  }

  // A click there selects the event of the stream.
  for (Row const& row : shown.rows)
    if (out_of_core_scene->nodes[row.node].kind == NodeKind::kCommunicator) {
      ASSERT_TRUE(row.has_events());
      Selection const chosen = out_of_core_scene->selection_of(
          out_of_core_scene->nodes[row.node].rank, row.trace(), shown.items[row.first_item].index);
      ASSERT_NE(out_of_core_scene->collective_of(chosen), nullptr);
      EXPECT_EQ(out_of_core_scene->collective_of(chosen)->communicator,
                out_of_core_scene->nodes[row.node].communicator);
      EXPECT_EQ(out_of_core_scene->nodes[*out_of_core_scene->node_of(chosen)].kind,
                NodeKind::kStream);
    }
}

TEST_F(OutOfCoreCommunicators, AreMarksWhereNothingWasRead) {
  write(two_schemes());
  auto const scene = open_out_of_core();
  analyze(*scene);
  Layout const layout = lay_out(*scene, open_view(*scene), kCommunicatorArea);

  for (Row const& row : layout.rows) {
    Node const& node = scene->nodes[row.node];
    if (node.kind != NodeKind::kCommunicator) continue;
    EXPECT_FALSE(row.has_events());

    double filled = 0;
    for (uint32_t i = row.first_item; i < row.last_item; ++i) {
      Item const& item = layout.items[i];
      EXPECT_EQ(item.kind, ItemKind::kDensity);
      EXPECT_EQ(item.paint, Paint::kCommunication);
      if (item.y0 < row.y0 + kLaneHeight) filled += static_cast<double>(item.fill);
    }

    // One lane: ten collectives of 100 ns. Two: ten pairs [200, 500) and [300, 600), 4 µs of busy
    // time.
    double const pixel = layout.window.span() / static_cast<double>(layout.viewport.width);
    EXPECT_NEAR(filled * pixel, node.lane_count == 1 ? 1000 : 4000, 100) << node.path;
  }
}

TEST_F(OutOfCoreCommunicators, LeaveTheViewWhatItWas) {
  write(two_schemes());
  auto const scene = open_out_of_core();
  ViewState state = open_view(*scene);
  auto const node_at = [&](std::string const& path) {
    auto const node = node_of_path(*scene, path);
    EXPECT_TRUE(node) << path;
    return node.value_or(0);
  };

  std::string const last_rank = "Rank 3", stream = scene->nodes[*scene->node_of_track(2, 1)].path;
  state.closed = {node_at(last_rank)};
  state.panels.track_menu = state.panels.thread = node_at(stream);
  state.panels.flash = Flash{node_at(stream), 1};
  state.drag.mode = Drag::Mode::kTrack;
  state.drag.node = node_at(stream);

  OutOfCoreAnalysis analysis(scene->store->files());
  analysis.finish();
  state.scroll = node_extent(*scene, state, node_at(stream)).first + 3;
  float const scroll = state.scroll;
  take_analysis(*scene, state, *analysis.take());

  EXPECT_EQ(state.scroll, node_extent(*scene, state, node_at(stream)).first + 3);
  EXPECT_GT(state.scroll, scroll) << "rows came above it";
  EXPECT_GT(node_at(last_rank), *state.panels.track_menu);
  EXPECT_EQ(state.closed, std::set<uint32_t>{node_at(last_rank)});
  for (uint32_t const node :
       {*state.panels.track_menu, *state.panels.thread, state.panels.flash->node, state.drag.node})
    EXPECT_EQ(scene->nodes[node].path, stream);
}

TEST_F(OutOfCoreCommunicators, MarksOfASearchStayOnTheirTracks) {
  write(two_schemes());
  Scene const scene = open_in_memory();
  ViewState state = open_view(scene);
  state.window = {0, 1e6};
  state.search.text = "all_reduce";
  state.search.hits = {scene.selection_of(0, scene.trace(0), 0)};
  Layout const layout = lay_out(scene, state, kCommunicatorArea);
  ASSERT_EQ(layout.marks.size(), 1U);
  EXPECT_EQ(scene.nodes[layout.marks.front().node].kind, NodeKind::kStream);
}

}  // namespace
}  // namespace stepscope::viewer
