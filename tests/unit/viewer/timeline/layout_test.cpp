#include "viewer/timeline/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "tests/unit/viewer/scenes.h"
#include "viewer/interaction/navigate.h"

namespace stepscope::viewer {
namespace {

constexpr Viewport kViewport{900, 5000, 1};

/// The naive twin: counts the events of the window by looking at all of the track.
uint64_t events_in_window(Scene const& scene, Node const& node, TimeWindow window) {
  auto const& trace = scene.trace(node.rank);
  auto const rows = trace.rows_of(model::TrackId{node.track});
  uint64_t count = 0;

  for (uint32_t row = rows.first; row < rows.last; ++row) {
    auto const when = scene.when({Selection::What::kEvent, node.rank, row});
    auto const begin = static_cast<double>(when.begin);
    count += begin < window.end &&
                     (static_cast<double>(when.end) > window.begin || begin >= window.begin)
                 ? 1
                 : 0;
  }

  return count;
}

std::vector<TimeWindow> some_windows(Scene const& scene) {
  auto const length = static_cast<double>(scene.length);
  return {{0, length},
          {length * 0.3, length * 0.35},
          {length * 0.5, length * 0.5 + 1000},
          {-length * 0.2, length * 0.1}};
}

TEST(Layout, CountsTheEventsOfTheWindowOnEveryTrack) {
  Scene const scene = synthetic_scene({.devices = 2, .steps = 12});
  ViewState state = open_view(scene);

  for (TimeWindow const& window : some_windows(scene)) {
    state.window = window;
    Layout const layout = lay_out(scene, state, kViewport);
    for (Row const& row : layout.rows) {
      Node const& node = scene.nodes[row.node];
      if (node.lanes.empty()) continue;
      uint64_t drawn = 0;
      for (uint32_t i = row.first_item; i < row.last_item; ++i) drawn += layout.items[i].count;
      EXPECT_EQ(drawn, events_in_window(scene, node, window)) << node.label;
    }
  }
}

TEST(Layout, PutsNoItemOutsideTheAreaOrItsRow) {
  Scene const scene = synthetic_scene({.devices = 2, .steps = 12});
  ViewState state = open_view(scene);

  for (TimeWindow const& window : some_windows(scene)) {
    state.window = window;
    Layout const layout = lay_out(scene, state, kViewport);
    for (Row const& row : layout.rows)
      for (uint32_t i = row.first_item; i < row.last_item; ++i) {
        Item const& item = layout.items[i];
        EXPECT_GE(item.x0, 0);
        EXPECT_LE(item.x1, kViewport.width);
        EXPECT_LE(item.x0, item.x1);
        EXPECT_GE(item.y0, row.y0);
        EXPECT_LE(item.y1, row.y1);
      }
  }
}

TEST(Layout, OrdersTheItemsOfALaneFromLeftToRight) {
  Scene const scene = synthetic_scene({.devices = 2, .steps = 30});
  Layout const layout = lay_out(scene, open_view(scene), {300, 5000, 1});
  for (Row const& row : layout.rows) {
    for (uint32_t i = row.first_item + 1; i < row.last_item; ++i)
      if (layout.items[i].y0 == layout.items[i - 1].y0) {
        EXPECT_GE(layout.items[i].x0, layout.items[i - 1].x0);
      }
  }
}

TEST(Layout, StacksRowsWithoutGapOrOverlap) {
  Scene const scene = synthetic_scene({.devices = 3, .steps = 4, .process_per_device = true});
  Layout const layout = lay_out(scene, open_view(scene), kViewport);
  ASSERT_GT(layout.rows.size(), 3U);
  EXPECT_EQ(layout.rows.front().y0, 0);
  for (size_t i = 1; i < layout.rows.size(); ++i)
    EXPECT_EQ(layout.rows[i].y0, layout.rows[i - 1].y1);
  EXPECT_EQ(layout.rows.back().y1, layout.content_height);
}

TEST(Layout, DrawsTheDevicesTimeWithoutHolesOrOverlaps) {
  Scene const scene = synthetic_scene({.devices = 2, .steps = 6, .input_delay_ns = 3'000'000});
  for (auto const& device : scene.analysis.devices) {
    Node const& node = scene.nodes[*scene.node_of_device(device.ref)];
    ASSERT_FALSE(node.segments.empty());
    // A first step's idle time may lie before the first device op.
    EXPECT_LE(node.segments.front().begin, scene.to_view(device.window.begin));
    EXPECT_GE(node.segments.back().end, scene.to_view(device.window.end));
    for (size_t i = 1; i < node.segments.size(); ++i)
      EXPECT_EQ(node.segments[i].begin, node.segments[i - 1].end);
  }
}

TEST(Layout, HidesTheChildrenOfAClosedGroup) {
  Scene const scene = synthetic_scene({.devices = 2, .steps = 4, .process_per_device = true});
  ViewState state = open_view(scene);
  size_t const all = lay_out(scene, state, kViewport).rows.size();
  state.closed = {0};
  Layout const layout = lay_out(scene, state, kViewport);
  EXPECT_EQ(layout.rows.size(), all - (scene.nodes[0].subtree_end - 1));
  EXPECT_FALSE(layout.rows[0].open);
}

TEST(Layout, LaysOutOnlyRowsThatCanBeSeen) {
  Scene const scene = synthetic_scene({.devices = 4, .steps = 4});
  ViewState state = open_view(scene);
  state.scroll = 100;
  Layout const layout = lay_out(scene, state, {800, 60, 1});
  for (Row const& row : layout.rows) {
    EXPECT_GT(row.y1, 0);
    EXPECT_LT(row.y0, 60);
  }
  EXPECT_GT(layout.content_height, 300);
}

TEST(Layout, FoldsThinEventsIntoMarksWithTheirShareOfTime) {
  Scene const scene = scene_of([](model::TraceBuilder& builder) {
    auto const track = add_stream(builder);
    auto const name = builder.intern("k");
    for (int64_t i = 0; i < 10'000; ++i)
      builder.events(track).add(model::EventKind::kKernel, i * 100, 25, name, 0,
                                model::KernelDetail{});
  });

  ViewState state = open_view(scene);
  state.window = {0, 1'000'000};
  Layout const layout = lay_out(scene, state, {100, 500, 1});

  uint64_t count = 0;
  for (Item const& item : layout.items) {
    if (item.kind != ItemKind::kDensity) continue;
    EXPECT_EQ(item.count, 100U);
    EXPECT_NEAR(static_cast<double>(item.fill), 0.25, 1e-6);
    count += item.count;
  }
  EXPECT_EQ(count, 10'000U);
}

TEST(Layout, KeepsTheCostBoundedByPixelsNotEvents) {
  Scene const scene = scene_of([](model::TraceBuilder& builder) {
    auto const track = add_thread(builder);
    auto const name = builder.intern("r");
    for (int64_t i = 0; i < 300'000; ++i)
      builder.events(track).add(model::EventKind::kRange, i * 10, 9, name);
  });
  Layout const layout = lay_out(scene, open_view(scene), {400, 500, 1});
  EXPECT_LE(layout.items.size(), 2U * 400);
}

TEST(Layout, PutsStepLinesWhereStepsBegin) {
  Scene const scene = synthetic_scene({.devices = 1, .steps = 5});
  Layout const layout = lay_out(scene, open_view(scene), kViewport);
  ASSERT_EQ(layout.steps.size(), 5U);

  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(layout.steps[i].step, scene.analysis.steps[i].step);
    EXPECT_FLOAT_EQ(
        layout.steps[i].x,
        layout.x_of(static_cast<double>(scene.to_view(scene.analysis.steps[i].window.begin))));
    EXPECT_EQ(layout.steps[i].y1, layout.content_height);
  }
}

TEST(Layout, MarksTheRulerAtRoundTimesWithUnits) {
  Scene const scene = synthetic_scene({.steps = 40});
  ViewState state = open_view(scene);
  state.window = {400e6, 410e6};
  Layout const layout = lay_out(scene, state, {1250, 100, 1});
  ASSERT_EQ(layout.ticks.size(), 10U);
  EXPECT_EQ(layout.ticks[0].label, "400 ms");
  EXPECT_EQ(layout.ticks[1].label, "401 ms");
  EXPECT_FLOAT_EQ(layout.ticks[1].x, 125);
}

TEST(Layout, BeginsItsTicksAtZeroWithoutASign) {
  Scene const scene = synthetic_scene({.steps = 40});
  ViewState state = open_view(scene);
  state.window = {-2e6, 98e6};
  Layout const layout = lay_out(scene, state, {1250, 100, 1});
  ASSERT_FALSE(layout.ticks.empty());
  EXPECT_EQ(layout.ticks[0].label, "0 ms");
}

TEST(Layout, DrawsAnArrowFromTheLaunchToItsDeviceOp) {
  Scene const scene = synthetic_scene({.devices = 1, .steps = 3});
  auto const& columns = scene.trace(0).columns();
  uint32_t row = 0;
  while (columns.kind[row] != model::EventKind::kLaunch || !columns.link[row].valid()) ++row;

  ViewState state = open_view(scene);
  state.selection = Selection{Selection::What::kEvent, 0, row};
  Layout const from_launch = lay_out(scene, state, kViewport);
  state.selection->index = columns.link[row].value;
  Layout const from_op = lay_out(scene, state, kViewport);

  ASSERT_EQ(from_launch.arrows.size(), 1U);
  ASSERT_EQ(from_op.arrows.size(), 1U);
  EXPECT_LE(from_launch.arrows[0].x0, from_launch.arrows[0].x1);
  EXPECT_EQ(from_launch.arrows[0].x0, from_op.arrows[0].x0);
  EXPECT_EQ(from_launch.related.size(), 2U);
}

TEST(Layout, OutlinesTheOtherRanksOfACollective) {
  Scene const scene = synthetic_scene({.devices = 3, .steps = 3, .process_per_device = true});
  auto const& participant = scene.analysis.collectives.at(2).participants.at(1);
  ViewState state = open_view(scene);
  state.selection = Selection{Selection::What::kEvent,
                              static_cast<uint32_t>(participant.ref.rank_index), participant.row};
  Layout const layout = lay_out(scene, state, kViewport);
  // Itself, its launch, and the two other ranks.
  EXPECT_EQ(layout.related.size(), 4U);
}

TEST(Layout, MarksTheEvidenceOfTheFindingInFocus) {
  Scene const scene = synthetic_scene({.devices = 2, .steps = 8, .input_delay_ns = 20'000'000});
  ASSERT_FALSE(scene.analysis.findings.empty());
  ViewState state = open_view(scene);
  EXPECT_TRUE(lay_out(scene, state, kViewport).evidence.empty());
  focus_finding(state, scene, {0, 0}, 400);
  state.scroll = 0;
  EXPECT_FALSE(lay_out(scene, state, kViewport).evidence.empty());
}

TEST(HitTest, FindsTheItemUnderThePoint) {
  Scene const scene = synthetic_scene({.devices = 2, .steps = 4});
  ViewState state = open_view(scene);
  frame(state, scene, {0, scene.length / 4});
  Layout const layout = lay_out(scene, state, kViewport);

  for (Row const& row : layout.rows)
    for (uint32_t i = row.first_item; i < row.last_item; ++i) {
      Item const& item = layout.items[i];
      if (item.x1 - item.x0 < 3) continue;
      auto const hit = hit_test(layout, (item.x0 + item.x1) / 2, (item.y0 + item.y1) / 2);
      ASSERT_TRUE(hit && hit->item);
      EXPECT_EQ(*hit->item, i);
    }
}

TEST(HitTest, FindsNothingBelowTheLastRow) {
  Scene const scene = synthetic_scene({.devices = 1, .steps = 2});
  Layout const layout = lay_out(scene, open_view(scene), kViewport);
  EXPECT_FALSE(hit_test(layout, 10, layout.content_height + 5));
}

TEST(Scene, KeepsTheTimesOfRanksWithOtherClocks) {
  Scene const aligned = synthetic_scene({.devices = 3, .steps = 4, .process_per_device = true});
  Scene const shifted = synthetic_scene({.devices = 3,
                                         .steps = 4,
                                         .process_per_device = true,
                                         .rank_clock_offset_ns = 5'000'000'000});

  EXPECT_EQ(aligned.length, shifted.length);
  for (uint32_t rank = 0; rank < 3; ++rank) {
    Selection const first{Selection::What::kEvent, rank, 0};
    EXPECT_EQ(aligned.when(first), shifted.when(first));
  }
}

TEST(Scene, ShowsRunsOfMoreThanTwoRanksClosed) {
  Scene const three = synthetic_scene({.devices = 3, .steps = 2, .process_per_device = true});
  EXPECT_EQ(initial_view(three).closed.size(), 3U);
  EXPECT_EQ(lay_out(three, initial_view(three), kViewport).rows.size(), 3U);
  Scene const two = synthetic_scene({.devices = 2, .steps = 2, .process_per_device = true});
  EXPECT_TRUE(initial_view(two).closed.empty());
}

TEST(Layout, ShowsTheDevicesOfAClosedRank) {
  Scene const scene = synthetic_scene({.devices = 2, .steps = 6});
  ViewState state = open_view(scene);
  state.closed.insert(0);
  Layout const layout = lay_out(scene, state, kViewport);
  ASSERT_EQ(layout.rows.size(), 1U);

  std::set<uint32_t> devices;
  for (Item const& item : layout.items) {
    EXPECT_EQ(item.kind, ItemKind::kSegment);
    EXPECT_EQ(scene.nodes[item.node].kind, NodeKind::kDevice);
    EXPECT_LT(item.index, scene.nodes[item.node].segments.size());
    EXPECT_GE(item.y0, layout.rows[0].y0);
    EXPECT_LE(item.y1, layout.rows[0].y1);
    EXPECT_LT(item.y0, item.y1);
    devices.insert(item.node);
  }
  EXPECT_EQ(devices.size(), 2U);
}

TEST(Layout, FadesWhatASearchDoesNotLookFor) {
  Scene const scene = synthetic_scene({.devices = 2, .steps = 4});
  ViewState state = open_view(scene);
  for (Item const& item : lay_out(scene, state, kViewport).items) EXPECT_FALSE(item.faded);

  state.search.text = "reduce";
  size_t shown = 0;
  for (Item const& item : lay_out(scene, state, kViewport).items) {
    if (item.kind != ItemKind::kEvent) continue;
    bool const wanted = scene.trace(0).name(item.index).find("reduce") != std::string_view::npos;
    EXPECT_EQ(item.faded, !wanted);
    shown += wanted ? 1U : 0U;
  }

  EXPECT_GT(shown, 0U);
}

TEST(Layout, MarksHitsThatAreTooThinToBeSeen) {
  Scene const scene = synthetic_scene({.devices = 2, .steps = 200});
  ViewState state = open_view(scene);
  state.search.text = "reduce";
  run_search(state, scene);

  Layout const layout = lay_out(scene, state, {300, 5000, 1});
  ASSERT_FALSE(layout.marks.empty());
  for (Item const& mark : layout.marks) {
    EXPECT_NE(scene.trace(0).name(mark.index).find("reduce"), std::string_view::npos);
    EXPECT_GE(mark.x0, 0);
    EXPECT_LE(mark.x1, 301);
    EXPECT_EQ(scene.node_of({Selection::What::kEvent, 0, mark.index}), mark.node);
  }

  search_for(state, "gather");
  EXPECT_TRUE(lay_out(scene, state, {300, 5000, 1}).marks.empty());
}

TEST(Layout, DrawsLinesOfRoundStepNumbersWhereAllWouldBeTooDense) {
  Scene const scene = synthetic_scene({.devices = 1, .steps = 400, .layers = 2});
  ViewState state = open_view(scene);
  Layout const layout = lay_out(scene, state, {600, 5000, 1});
  ASSERT_GT(layout.steps.size(), 10U);

  int64_t const stride = layout.steps[1].step - layout.steps[0].step;
  EXPECT_GT(stride, 1);
  for (size_t i = 0; i < layout.steps.size(); ++i) {
    EXPECT_EQ(layout.steps[i].step % stride, 0);
    if (i > 0) {
      EXPECT_EQ(layout.steps[i].step - layout.steps[i - 1].step, stride);
    }
  }
}

}  // namespace
}  // namespace stepscope::viewer
