// Compares the critical path of an out-of-core run with that of the same run in memory.
#include "viewer/event_store/out_of_core/path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tests/unit/viewer/event_store/out_of_core/out_of_core_scenes.h"
#include "tests/unit/viewer/null_ui.h"
#include "trace/base/files/truncated_mmap.h"
#include "viewer/interaction/navigate.h"
#include "viewer/panels/critical_path.h"
#include "viewer/timeline/layout.h"

namespace stepscope::viewer {
namespace {

class OutOfCorePathTest : public OutOfCoreTest {
 protected:
  void SetUp() override {
    OutOfCoreTest::SetUp();
    write(support::make_synthetic_run({.devices = 3,
                                       .steps = 12,
                                       .process_per_device = true,
                                       .jitter = 0.3,
                                       .input_delay_ns = 3'000'000}));
    out_of_core_ = open_out_of_core();
    analyze(*out_of_core_);
  }
  [[nodiscard]] PathLine path_line_of_files(
      uint64_t most_stretch_events = kMostStretchEvents) const {
    PathFeed feed;
    find_path_in_files(*out_of_core_, feed, {}, most_stretch_events);
    EXPECT_EQ(feed.share(), 1);
    PathLine line;
    feed.take(line);
    return line;
  }
  /// The share of a line's time that the out-of-core run has on the same row, in the same lane and
  /// of the same class.
  [[nodiscard]] double share_alike(Scene const& scene, PathLine const& line,
                                   PathLine const& out_of_core) const {
    int64_t alike = 0, all = 0;
    auto other = out_of_core.pieces.begin();

    for (PathLine::Piece const& piece : line.pieces) {
      all += piece.end - piece.begin;
      while (other != out_of_core.pieces.end() && other->end <= piece.begin) ++other;
      for (auto at = other; at != out_of_core.pieces.end() && at->begin < piece.end; ++at) {
        bool const is_alike = out_of_core_->nodes[at->node].path == scene.nodes[piece.node].path &&
                              at->lane == piece.lane && at->rank == piece.rank &&
                              at->path_class == piece.path_class;
        if (is_alike) alike += std::min(at->end, piece.end) - std::max(at->begin, piece.begin);
      }
    }

    return static_cast<double>(alike) / static_cast<double>(all);
  }

  std::unique_ptr<Scene> out_of_core_;
};

TEST_F(OutOfCorePathTest, IsThatOfTheRunInMemory) {
  Scene const scene = open_in_memory();
  PathLine const line = path_line(scene);
  ASSERT_GT(line.pieces.size(), 100U);
  EXPECT_EQ(share_alike(scene, line, path_line_of_files()), 1);
}

// The path of a stretch ends at another op than the path of the whole run. Going back, both have
// joined before the stretch begins.
TEST_F(OutOfCorePathTest, FoundInStretchesIsThatOfTheRunAsAWhole) {
  Scene const scene = open_in_memory();
  PathLine const in_parts = path_line_of_files(out_of_core_->events / 8);
  EXPECT_GT(share_alike(scene, path_line(scene), in_parts), 0.97);
  for (size_t i = 1; i < in_parts.pieces.size(); ++i)
    ASSERT_GE(in_parts.pieces[i].begin, in_parts.pieces[i - 1].end);
}

TEST_F(OutOfCorePathTest, IsDrawnOverAllOfTheRunForThePriceOfThePixels) {
  PathLine const line = path_line_of_files();
  ViewState state = initial_view(*out_of_core_);
  state.panels.path = true;
  Viewport const view{700, 4000, 1};
  Layout const layout = lay_out(*out_of_core_, state, view, &line);
  ASSERT_FALSE(layout.path.empty());
  EXPECT_LE(layout.path.size(), 2 * 700U);

  uint64_t drawn = 0;
  double covered = 0;
  for (PathItem const& item : layout.path) {
    drawn += item.count;
    covered += static_cast<double>(item.x1 - item.x0);
  }

  EXPECT_EQ(drawn, line.pieces.size());
  EXPECT_GT(covered, 0.9 * 700);
}

TEST_F(OutOfCorePathTest, LiesOnTheLanesOfItsTracksAndIsGoneTo) {
  PathLine const line = path_line_of_files();
  ViewState state = initial_view(*out_of_core_);
  state.panels.path = true;

  bool any_deep = false;
  for (PathLine::Piece const& piece : line.pieces) {
    EXPECT_FALSE(piece.row);
    any_deep = any_deep || piece.lane > 0;
  }
  EXPECT_TRUE(any_deep);

  ASSERT_TRUE(go_to_path(state, *out_of_core_, line, 200));
  EXPECT_FALSE(state.selection);
}

TEST_F(OutOfCorePathTest, ToldToStopGivesNothing) {
  std::stop_source stop;
  stop.request_stop();
  PathFeed feed;
  find_path_in_files(*out_of_core_, feed, stop.get_token());
  PathLine line;
  feed.take(line);
  EXPECT_TRUE(line.pieces.empty());
  EXPECT_EQ(feed.share(), 0);
}

TEST_F(OutOfCorePathTest, WithoutEventsThatCanBeReadHasNone) {
  base::survive_cut_files();
  for (int rank = 0; rank < 3; ++rank) std::filesystem::resize_file(path(rank), 0);
  EXPECT_TRUE(path_line_of_files().pieces.empty());
}

TEST_F(OutOfCorePathTest, ComesWhenItIsAskedForOnTheTimeline) {
  NullUi ui;
  ViewState state = initial_view(*out_of_core_);
  ui.type(*out_of_core_, state, "p");
  ui.frames(*out_of_core_, state, 2);
  EXPECT_TRUE(state.panels.path);

  PanelCache cache;
  ASSERT_NE(path_so_far(*out_of_core_, cache), nullptr);
  cache.finish();
  EXPECT_GT(path_so_far(*out_of_core_, cache)->pieces.size(), 100U);
  out_of_core_->missing_analysis.emplace();
  EXPECT_EQ(path_so_far(*out_of_core_, cache), nullptr);
}

TEST(LineOfPieces, JoinsWhatIsTooShortToBeSeen) {
  std::vector<PathLine::Piece> pieces(8);
  for (size_t i = 0; i < pieces.size(); ++i) {
    pieces[i].begin = static_cast<int64_t>(i) * 10;
    pieces[i].end = pieces[i].begin + 10;
    pieces[i].node = static_cast<uint32_t>(i);
  }
  pieces[7].end = 500;
  std::reverse(pieces.begin(), pieces.end());

  EXPECT_EQ(line_of(pieces).pieces.size(), 8U);

  // Three pieces reach 25 ns, the long one stays by itself.
  PathLine const line = line_of(pieces, 25);
  ASSERT_EQ(line.pieces.size(), 4U);
  EXPECT_EQ(line.pieces[0].end, 30);
  EXPECT_EQ(line.pieces[1].node, 3U);
  EXPECT_EQ(line.pieces[2].end, 70);
  EXPECT_EQ(line.pieces[3].node, 7U);
}

}  // namespace
}  // namespace stepscope::viewer
