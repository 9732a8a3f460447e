// The critical path as a line: its pieces against the analysis' sums, and where layout puts them.
#include "viewer/queries/path_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <stop_token>

#include "tests/unit/viewer/scenes.h"
#include "viewer/interaction/navigate.h"
#include "viewer/timeline/layout.h"

namespace stepscope::viewer {
namespace {

constexpr Viewport kPathView{900, 5000, 1};

Scene const& path_scene() {
  static Scene const kScene = synthetic_scene({.devices = 3,
                                               .steps = 8,
                                               .process_per_device = true,
                                               .jitter = 0.3,
                                               .input_delay_ns = 3'000'000});
  return kScene;
}

PathLine const& line() {
  static PathLine const kLine = path_line(path_scene());
  return kLine;
}

TEST(PathLine, SumsToTheAnalysisByClass) {
  std::array<int64_t, analyzer::kPathClassCount> sums{};
  for (auto const& piece : line().pieces)
    sums[static_cast<size_t>(piece.path_class)] += piece.end - piece.begin;
  EXPECT_EQ(sums, path_scene().analysis.critical_path->by_class);
}

TEST(PathLine, IsInOnePlaceAtAnyTime) {
  ASSERT_FALSE(line().pieces.empty());
  for (size_t i = 1; i < line().pieces.size(); ++i)
    EXPECT_GE(line().pieces[i].begin, line().pieces[i - 1].end);
}

TEST(PathLine, GoesFromRankToRank) {
  std::set<uint32_t> ranks;
  for (auto const& piece : line().pieces) ranks.insert(piece.rank);
  EXPECT_GT(ranks.size(), 1U);
  EXPECT_GT(path_scene().analysis.critical_path->jumps, 0U);
}

TEST(PathLine, LiesOnTheTrackOfItsEvents) {
  for (auto const& piece : line().pieces) {
    Node const& node = path_scene().nodes[piece.node];
    EXPECT_EQ(node.rank, piece.rank);
    if (!piece.row) continue;
    auto const& columns = path_scene().trace(piece.rank).columns();
    EXPECT_EQ(node.track, columns.track[*piece.row].value);
    EXPECT_EQ(piece.lane, columns.depth[*piece.row]);
  }
}

TEST(PathLine, OfARunWithoutDeviceWorkIsEmpty) {
  Scene const scene = scene_of([](model::TraceBuilder& builder) {
    builder.events(add_thread(builder)).add(model::EventKind::kRange, 0, 10, builder.intern("r"));
  });
  EXPECT_TRUE(path_line(scene).pieces.empty());
}

TEST(PathLine, ToldToStopIsEmpty) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(path_line(path_scene(), stop.get_token()).pieces.empty());
}

TEST(PathLayout, IsDrawnOnlyWhenAsked) {
  ViewState state = open_view(path_scene());
  EXPECT_TRUE(lay_out(path_scene(), state, kPathView, &line()).path.empty());
  state.panels.path = true;
  EXPECT_TRUE(lay_out(path_scene(), state, kPathView).path.empty());
  EXPECT_FALSE(lay_out(path_scene(), state, kPathView, &line()).path.empty());
}

TEST(PathLayout, CountsEveryPieceOfTheWindowFromLeftToRight) {
  ViewState state = open_view(path_scene());
  state.panels.path = true;
  Layout const layout = lay_out(path_scene(), state, kPathView, &line());

  uint64_t drawn = 0;
  float previous = 0;
  for (PathItem const& item : layout.path) {
    drawn += item.count;
    EXPECT_GE(item.x0, previous);
    EXPECT_LE(item.x1, kPathView.width);
    previous = item.x0;
  }

  EXPECT_EQ(drawn, line().pieces.size());
}

/// A thousand pieces have no lines between them: each row has a band where the path is on it.
TEST(PathLayout, IsABandWhereItsPiecesAreThin) {
  ViewState state = open_view(path_scene());
  state.panels.path = true;
  Viewport narrow = kPathView;
  narrow.width = 60;
  Layout const layout = lay_out(path_scene(), state, narrow, &line());

  size_t thin = 0, joined = 0;
  for (size_t i = 0; i < layout.path.size(); ++i) {
    PathItem const& item = layout.path[i];
    if (!item.is_thin || item.is_out_of_view()) continue;
    ++thin;
    EXPECT_TRUE(std::any_of(layout.rows.begin(), layout.rows.end(),
                            [&](Row const& row) { return row.y1 == item.y1; }));
    for (size_t next = i + 1; next < layout.path.size(); ++next) {
      PathItem const& other = layout.path[next];
      if (!other.is_thin || other.y1 != item.y1) continue;
      EXPECT_TRUE(other.x0 <= item.x1 || other.x0 - item.x1 >= 4) << item.x1 << " " << other.x0;
      joined += other.x0 <= item.x1 ? 1 : 0;
      break;
    }
  }
  EXPECT_GT(thin, 20U);
  EXPECT_GT(joined, 10U);
}

TEST(PathLayout, LiesOnTheLaneOfItsEvent) {
  ViewState state = open_view(path_scene());
  state.panels.path = true;
  Layout const layout = lay_out(path_scene(), state, kPathView, &line());

  size_t on_events = 0;
  for (PathItem const& of_path : layout.path) {
    auto const& piece = line().pieces[of_path.piece];
    if (!piece.row || of_path.count > 1 || of_path.is_thin) continue;
    for (Row const& row : layout.rows) {
      if (row.node != piece.node) continue;
      for (uint32_t i = row.first_item; i < row.last_item; ++i) {
        if (layout.items[i].kind != ItemKind::kEvent || layout.items[i].index != *piece.row)
          continue;
        EXPECT_EQ(layout.items[i].y0, of_path.y0);
        EXPECT_EQ(layout.items[i].y1, of_path.y1);
        ++on_events;
      }
    }
  }

  EXPECT_GT(on_events, 10U);
}

TEST(PathLayout, GoesToTheRowOfAClosedGroup) {
  ViewState state = open_view(path_scene());
  state.panels.path = true;
  for (uint32_t node = 0; node < path_scene().nodes.size();
       node = path_scene().nodes[node].subtree_end)
    state.closed.insert(node);

  Layout const layout = lay_out(path_scene(), state, kPathView, &line());
  ASSERT_EQ(layout.rows.size(), 3U);
  ASSERT_FALSE(layout.path.empty());

  for (PathItem const& item : layout.path) {
    Row const& row = layout.rows[line().pieces[item.piece].rank];
    EXPECT_EQ(item.y0, row.y0);
    EXPECT_EQ(item.y1, row.y1);
  }
}

TEST(PathLayout, RunsAlongTheEdgeWhereItsRowsAreOutOfView) {
  ViewState state = open_view(path_scene());
  state.panels.path = true;
  Viewport const low{900, 30, 1};
  Layout const layout = lay_out(path_scene(), state, low, &line());

  uint64_t drawn = 0;
  size_t below = 0;
  for (PathItem const& item : layout.path) {
    drawn += item.count;
    if (!item.is_out_of_view()) continue;
    EXPECT_EQ(item.y0, low.height);
    ++below;
  }
  EXPECT_EQ(drawn, line().pieces.size());
  EXPECT_GT(below, 0U);

  state.scroll = content_height(path_scene(), state) - 30;
  Layout const scrolled = lay_out(path_scene(), state, low, &line());
  EXPECT_TRUE(std::any_of(scrolled.path.begin(), scrolled.path.end(), [](PathItem const& item) {
    return item.is_out_of_view() && item.y0 == 0;
  }));
}

TEST(GoToPath, ShowsTheRowOfThePathInTheMiddleOfTheWindow) {
  ViewState state = open_view(path_scene());
  for (uint32_t node = 0; node < path_scene().nodes.size();
       node = path_scene().nodes[node].subtree_end)
    state.closed.insert(node);

  double const middle = (state.window.begin + state.window.end) / 2;
  ASSERT_TRUE(go_to_path(state, path_scene(), line(), 100));

  for (auto const& piece : line().pieces) {
    if (static_cast<double>(piece.begin) > middle || static_cast<double>(piece.end) <= middle)
      continue;
    if (piece.row) {
      EXPECT_EQ(state.selection, (Selection{Selection::What::kEvent, piece.rank, *piece.row}));
    }
    auto const [top, bottom] = node_extent(path_scene(), state, piece.node);
    EXPECT_LT(top, state.scroll + 100);
    EXPECT_GT(bottom, state.scroll);
  }

  state.window = {1e15, 1e15 + 10};
  EXPECT_FALSE(go_to_path(state, path_scene(), line(), 100));
}

}  // namespace
}  // namespace stepscope::viewer
