// Rows of communicators: which collectives they hold whatever streams these run on, what they are called, when there are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/unit/viewer/null_ui.h"
#include "tests/unit/viewer/scenes.h"
#include "viewer/timeline/layout.h"

namespace stepscope::viewer {
namespace {

constexpr uint64_t kTensor = 11, kData = 22;

model::CollectiveDetail collective_in(uint64_t communicator, uint64_t sequence, int32_t rank) {
  model::CollectiveDetail detail;
  detail.op = model::CollectiveOp::kAllReduce;
  detail.communicator = communicator;
  detail.sequence = sequence;
  detail.participants = 2;
  detail.rank = rank;
  detail.bytes = 1024;
  return detail;
}

/// Four ranks: 0 and 1, 2 and 3 share tensors; 0 and 2, 1 and 3 share data. Collectives of both on one stream, more of the data
/// on another one.
Scene two_schemes() {
  model::Run run;
  for (int32_t rank = 0; rank < 4; ++rank) {
    model::TraceBuilder builder;
    builder.info().rank = rank;
    builder.info().world_size = 4;
    auto const first = add_stream(builder, "nccl");
    auto const second = builder.add_track({.kind = model::TrackKind::kStream, .name = "nccl 2", .id = 8, .device = 0});
    auto const name = builder.intern("all_reduce");
    uint64_t const tensor = kTensor + static_cast<uint64_t>(rank / 2), data = kData + static_cast<uint64_t>(rank % 2);
    for (uint64_t n = 0; n < 10; ++n) {
      auto const at = static_cast<int64_t>(n) * 1000;
      builder.events(first).add(model::EventKind::kCollective, at, 100, name, 0, collective_in(tensor, n + 1, rank % 2));
      builder.events(first).add(model::EventKind::kCollective, at + 200, 300, name, 0, collective_in(data, 2 * n + 1, rank / 2));
      builder.events(second).add(model::EventKind::kCollective, at + 300, 300, name, 0, collective_in(data, 2 * n + 2, rank / 2));
    }
    run.ranks.push_back({std::move(builder).finish(), 0, "made"});
  }
  return analyzed(std::move(run));
}

std::vector<Node const*> communicators_of(Scene const& scene, uint32_t rank) {
  std::vector<Node const*> found;
  for (Node const& node : scene.nodes)
    if (node.rank == rank && node.kind == NodeKind::kCommunicator) found.push_back(&node);
  return found;
}

TEST(Communicators, HaveTheirCollectivesOfAllStreams) {
  Scene const scene = two_schemes();
  auto const of_first = communicators_of(scene, 0);
  ASSERT_EQ(of_first.size(), 2U);
  EXPECT_EQ(of_first[0]->label, "Ranks 0, 1");
  EXPECT_EQ(of_first[1]->label, "Ranks 0, 2");
  EXPECT_EQ(of_first[0]->lanes.size(), 1U);
  EXPECT_EQ(of_first[0]->lanes[0].rows.size(), 10U);
  // Those on different streams overlap.
  ASSERT_EQ(of_first[1]->lanes.size(), 2U);
  EXPECT_EQ(of_first[1]->lanes[0].rows.size() + of_first[1]->lanes[1].rows.size(), 20U);
  auto const of_last = communicators_of(scene, 3);
  ASSERT_EQ(of_last.size(), 2U);
  EXPECT_EQ(of_last[0]->label, "Ranks 2, 3");
  EXPECT_EQ(of_last[1]->label, "Ranks 1, 3");
  // An event belongs to its stream: that is where it is gone to.
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
  std::vector<model::TrackId> streams = {add_stream(builder), add_stream(builder), add_stream(builder)};
  auto const name = builder.intern("all_reduce");
  for (int i = 0; i < 3000; ++i)
    builder.events(streams[random() % 3])
        .add(model::EventKind::kCollective, static_cast<int64_t>(random() % 100000), static_cast<int64_t>(random() % 50), name, 0,
             collective_in(random() % 4, static_cast<uint64_t>(i) + 1, 0));
  model::Trace const trace = std::move(builder).finish();
  std::vector<uint32_t> const tracks = {0, 1, 2};
  std::set<uint32_t> seen;
  for (CommunicatorLanes const& each : communicator_lanes(trace, tracks)) {
    EXPECT_NE(each.communicator, 0U) << "unknown ones are of no communicator";
    for (Lane const& lane : each.lanes)
      for (size_t i = 0; i < lane.rows.size(); ++i) {
        uint32_t const row = lane.rows[i];
        EXPECT_EQ(trace.detail<model::CollectiveDetail>(row).communicator, each.communicator);
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
  Scene const scene = two_schemes();
  NullUi ui;
  ViewState state = initial_view(scene);
  ui.frames(scene, state, 3);
  Layout const layout = lay_out(scene, state, {900, 400, 1});
  bool is_drawn = false;
  for (Row const& row : layout.rows)
    if (scene.nodes[row.node].kind == NodeKind::kCommunicator)
      for (uint32_t i = row.first_item; i < row.last_item; ++i) {
        Item const& item = layout.items[i];
        auto const hit = hit_test(layout, (item.x0 + item.x1) / 2, (item.y0 + item.y1) / 2);
        ASSERT_TRUE(hit && hit->item);
        EXPECT_EQ(scene.trace(scene.nodes[row.node].rank).kind(layout.items[*hit->item].index), model::EventKind::kCollective);
        is_drawn = true;
      }
  EXPECT_TRUE(is_drawn);
}

}  // namespace
}  // namespace stepscope::viewer
