#include "viewer/interaction/track_finder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/viewer/scenes.h"
#include "viewer/scene/track_choice.h"

namespace stepscope::viewer {
namespace {

Scene const& many_ranks() {
  static Scene const kScene =
      synthetic_scene({.devices = 14, .steps = 2, .process_per_device = true});
  return kScene;
}

std::string best(std::string_view text) {
  FoundTracks const found = find_tracks(many_ranks(), text);
  return found.nodes.empty() ? "" : many_ranks().nodes[found.nodes[0]].path;
}

TEST(FindTracks, PutsTheTrackThatIsNamedFirst) {
  EXPECT_EQ(best("rank 3"), "Rank 3");
  EXPECT_EQ(best("RANK 13"), "Rank 13");
  EXPECT_EQ(best("rank 1"), "Rank 1");
  for (Node const& node : many_ranks().nodes)
    if (node.kind == NodeKind::kStream) {
      EXPECT_EQ(best("rank " + std::to_string(many_ranks().trace(node.rank).info().rank) + " " +
                     node.label),
                node.path);
    }
}

TEST(FindTracks, FindsByLettersInTheirOrderAfterAllWords) {
  FoundTracks const found = find_tracks(many_ranks(), "rk1");
  ASSERT_FALSE(found.nodes.empty());
  EXPECT_EQ(many_ranks().nodes[found.nodes[0]].path, "Rank 1");
  // "1" as a word is in Rank 1 alone, as a letter in Rank 10 too, which comes later.
  FoundTracks const numbers = find_tracks(many_ranks(), "rank 1");
  auto const place = [&](char const* path) {
    auto const node = node_of_path(many_ranks(), path);
    return std::find(numbers.nodes.begin(), numbers.nodes.end(), *node) - numbers.nodes.begin();
  };
  EXPECT_LT(place("Rank 1"), place("Rank 10"));
}

TEST(FindTracks, OfNothingAreAllInTheirOrderAndOfNonsenseNone) {
  FoundTracks const all = find_tracks(many_ranks(), " ");
  EXPECT_EQ(all.total, many_ranks().nodes.size());
  EXPECT_TRUE(std::is_sorted(all.nodes.begin(), all.nodes.end()));
  EXPECT_EQ(find_tracks(many_ranks(), "qqqq zzzz").total, 0U);
  EXPECT_EQ(find_tracks(many_ranks(), std::string(100'000, 'r')).total, 0U);
}

TEST(FindTracks, KeepsABoundedNumberOfManyAndCountsAll) {
  Scene const scene = scene_of([](model::TraceBuilder& builder) {
    for (int i = 0; i < 1000; ++i)
      builder.events(add_thread(builder, "t"))
          .add(model::EventKind::kRange, i, 100, builder.intern("r"));
  });
  FoundTracks const found = find_tracks(scene, "t");
  EXPECT_EQ(found.nodes.size(), kMostFound);
  EXPECT_GE(found.total, 1000U);
}

TEST(GoToTrack, OpensWhatIsAroundItAndLetsItStandOutForAMoment) {
  ViewState state = initial_view(many_ranks());
  close_all_ranks(state, many_ranks());
  uint32_t const last = static_cast<uint32_t>(many_ranks().nodes.size() - 1);

  go_to_track(state, many_ranks(), last, 200);
  EXPECT_FALSE(state.closed.contains(*node_of_path(many_ranks(), "Rank 13")));
  ASSERT_TRUE(state.panels.flash);
  EXPECT_EQ(state.panels.flash->node, last);

  fade_flash(state, 0.1F);
  EXPECT_TRUE(state.panels.flash);
  fade_flash(state, 10);
  EXPECT_FALSE(state.panels.flash);

  go_to_track(state, many_ranks(), 1'000'000, 200);
  EXPECT_FALSE(state.panels.flash);
}

}  // namespace
}  // namespace stepscope::viewer
