// Predicted events on the rows of the timeline.
#include "viewer/queries/ghost_tracks.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/viewer/predicted_scenes.h"

namespace stepscope::viewer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A stream has rows of its waits for other streams, too, which are no work.
size_t ops_in(Scene const& scene, Node const& node) {
  model::Trace const& trace = scene.run.ranks[node.rank].trace;
  size_t ops = 0;
  for (Lane const& lane : node.lanes)
    for (uint32_t const row : lane.rows) ops += model::is_device_op(trace.kind(row)) ? 1 : 0;
  return ops;
}

TEST(GhostTracks, HaveAllOpsOfEveryStream) {
  Scene const scene = scene_with_late_input();
  PredictedScene const predicted(scene, "input=0");
  ASSERT_NE(predicted.ghosts, nullptr);

  size_t streams = 0;
  for (uint32_t node = 0; node < scene.nodes.size(); ++node) {
    if (scene.nodes[node].kind != NodeKind::kStream) continue;
    GhostTrack const* const ghost = predicted.ghosts->of_node(node);
    ASSERT_NE(ghost, nullptr) << scene.nodes[node].label;
    EXPECT_EQ(ghost->size(), ops_in(scene, scene.nodes[node]));
    ++streams;
  }
  EXPECT_GT(streams, 1U);
  EXPECT_EQ(predicted.ghosts->of_node(UINT32_MAX), nullptr);
  std::vector<uint32_t> const nodes = predicted.ghosts->nodes();
  EXPECT_TRUE(std::is_sorted(nodes.begin(), nodes.end()));
}

TEST(GhostTracks, LieOnTheRecordedEventsWhereNothingIsChanged) {
  Scene const scene = scene_with_late_input();
  PredictedScene const predicted(scene, "");
  ASSERT_NE(predicted.ghosts, nullptr);

  for (GhostTrack const& ghost : predicted.ghosts->tracks) {
    Node const& node = scene.nodes[ghost.node];
    for (uint32_t i = 0; i < ghost.size(); ++i) {
      model::Interval const when =
          scene.when({Selection::What::kEvent, node.rank, ghost.track->rows[i]});
      // A call with another one in it is several stretches.
      if (node.kind != NodeKind::kStream) continue;
      ASSERT_EQ(scene.to_view(ghost.begin(i)), when.begin);
      ASSERT_EQ(scene.to_view(ghost.end(i)), when.end);
    }
  }
}

TEST(GhostTracks, SayByHowMuchAnEventMoved) {
  Scene const scene = scene_with_late_input();
  PredictedScene const predicted(scene, "class:compute=/2");
  ASSERT_NE(predicted.ghosts, nullptr);
  GhostTrack const* const ghost =
      predicted.ghosts->of_node(*scene.node_of_track(predicted.ghosts->tracks.back().track->process,
                                                     predicted.ghosts->tracks.back().track->track));
  ASSERT_NE(ghost, nullptr);

  std::vector<std::string> const lines =
      describe_ghost(*predicted.ghosts, *ghost, ghost->size() - 1);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[1], "predicted: class:compute=/2");
  EXPECT_THAT(lines[2], HasSubstr(" → predicted "));
  EXPECT_THAT(lines[3], HasSubstr("earlier"));

  PredictedScene const unchanged(scene, "");
  EXPECT_EQ(describe_ghost(*unchanged.ghosts, unchanged.ghosts->tracks.front(), 0).back(),
            "begins where it was recorded");
}

TEST(GhostTracks, HaveTheBeginsOfPredictedSteps) {
  Scene const scene = scene_with_late_input();
  PredictedScene const predicted(scene, "input=0");
  ASSERT_EQ(predicted.ghosts->steps.size(), 2U);
  for (auto const& [ref, begins] : predicted.ghosts->steps) {
    EXPECT_EQ(begins.size(), 12U);
    EXPECT_TRUE(std::is_sorted(begins.begin(), begins.end()));
  }
}

/// Ops of one stream overlap in some recordings: what is drawn does not.
TEST(GhostTracks, CutWhatOverlaps) {
  model::RankTrace const rank;
  analyzer::PredictedTimeline timeline;
  analyzer::PredictedTrack track;
  track.rank = &rank;
  track.rows = {0, 1, 2};
  track.begin = {0, 50, 60};
  track.end = {100, 70, 200};
  timeline.tracks = {track};

  Scene const scene = scene_of([](model::TraceBuilder& builder) {
    builder.events(add_stream(builder))
        .add(model::EventKind::kKernel, 5, 1, builder.intern("k"), 0, model::KernelDetail{});
  });
  auto const ghosts = make_ghost_tracks(scene, nullptr, "made", std::move(timeline));
  ASSERT_EQ(ghosts->tracks.size(), 1U);
  EXPECT_THAT(ghosts->tracks[0].cut, ElementsAre(model::Interval{0, 100}, model::Interval{100, 100},
                                                 model::Interval{100, 200}));
}

}  // namespace
}  // namespace stepscope::viewer
