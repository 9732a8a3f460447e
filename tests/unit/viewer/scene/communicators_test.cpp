// Rows of communicators: which collectives they hold, whatever the streams; their labels; and when
// a run has none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/unit/viewer/null_ui.h"
#include "tests/unit/viewer/scene/communicator_scenes.h"
#include "tests/unit/viewer/scenes.h"
#include "viewer/timeline/layout.h"

namespace stepscope::viewer {
namespace {

std::vector<Node const*> communicators_of(Scene const& scene, uint32_t rank) {
  std::vector<Node const*> found;
  for (Node const& node : scene.nodes)
    if (node.rank == rank && node.kind == NodeKind::kCommunicator) found.push_back(&node);
  return found;
}

TEST(Communicators, HaveTheirCollectivesOfAllStreams) {
  Scene const scene = analyzed(two_schemes());
  auto const of_first = communicators_of(scene, 0);
  ASSERT_EQ(of_first.size(), 2U);
  EXPECT_EQ(of_first[0]->label, "Ranks 0, 1");
  EXPECT_EQ(of_first[1]->label, "Ranks 0, 2");
  EXPECT_EQ(of_first[0]->lanes.size(), 1U);
  EXPECT_EQ(of_first[0]->lanes[0].rows.size(), 10U);
  // Collectives on different streams overlap.
  ASSERT_EQ(of_first[1]->lanes.size(), 2U);
  EXPECT_EQ(of_first[1]->lanes[0].rows.size() + of_first[1]->lanes[1].rows.size(), 20U);

  auto const of_last = communicators_of(scene, 3);
  ASSERT_EQ(of_last.size(), 2U);
  EXPECT_EQ(of_last[0]->label, "Ranks 2, 3");
  EXPECT_EQ(of_last[1]->label, "Ranks 1, 3");

  // An event belongs to its stream: following it leads to the row of the stream.
  EXPECT_EQ(scene.nodes[*scene.node_of_track(0, 0)].kind, NodeKind::kStream);
}

TEST(Communicators, AreNoRowsWhereAStreamSaysTheSame) {
  Scene const scene = synthetic_scene({.devices = 4, .process_per_device = true});
  size_t named = 0;
  for (Node const& node : scene.nodes) {
    EXPECT_NE(node.kind, NodeKind::kCommunicator);
    if (node.kind == NodeKind::kStream && node.note == "Ranks 0–3") ++named;
  }
  EXPECT_EQ(named, 4U) << "the streams of the collectives";
}

TEST(Communicators, LanesHoldEachCollectiveOnceAndWithoutOverlap) {
  std::mt19937 random(5);
  model::TraceBuilder builder;
  std::vector<model::TrackId> streams = {add_stream(builder), add_stream(builder),
                                         add_stream(builder)};
  auto const name = builder.intern("all_reduce");

  for (int i = 0; i < 3000; ++i)
    builder.events(streams[random() % 3])
        .add(model::EventKind::kCollective, static_cast<int64_t>(random() % 100000),
             static_cast<int64_t>(random() % 50), name, 0,
             collective_in(random() % 4, static_cast<uint64_t>(i) + 1, 0));

  model::Trace const trace = std::move(builder).finish();
  std::vector<uint32_t> const tracks = {0, 1, 2};
  std::set<uint32_t> seen;
  for (CommunicatorLanes const& each : communicator_lanes(trace, tracks)) {
    EXPECT_NE(each.of.id, 0U) << "unknown ones are of no communicator";
    for (Lane const& lane : each.lanes)
      for (size_t i = 0; i < lane.rows.size(); ++i) {
        uint32_t const row = lane.rows[i];
        EXPECT_EQ(trace.detail<model::CollectiveDetail>(row).communicator, each.of.id);
        EXPECT_TRUE(seen.insert(row).second);
        if (i > 0) {
          EXPECT_LE(trace.end(lane.rows[i - 1]), trace.start(row));
        }
      }
  }

  size_t known = 0;
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    known += trace.detail<model::CollectiveDetail>(row).communicator != 0 ? 1 : 0;
  EXPECT_EQ(seen.size(), known);
}

TEST(Communicators, AClickOnOneSelectsTheCollective) {
  Scene const scene = analyzed(two_schemes());
  NullUi ui;
  ViewState state = open_view(scene);
  ui.frames(scene, state, 3);

  Layout const layout = lay_out(scene, state, {900, 400, 1});
  bool is_drawn = false;
  for (Row const& row : layout.rows)
    if (scene.nodes[row.node].kind == NodeKind::kCommunicator)
      for (uint32_t i = row.first_item; i < row.last_item; ++i) {
        Item const& item = layout.items[i];
        auto const hit = hit_test(layout, (item.x0 + item.x1) / 2, (item.y0 + item.y1) / 2);
        ASSERT_TRUE(hit && hit->item);
        EXPECT_EQ(scene.trace(scene.nodes[row.node].rank).kind(layout.items[*hit->item].index),
                  model::EventKind::kCollective);
        is_drawn = true;
      }

  EXPECT_TRUE(is_drawn);
}

}  // namespace
}  // namespace stepscope::viewer
