// Compares a run that is opened out of core with the same run in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <set>
#include <tuple>

#include "tests/unit/viewer/event_store/out_of_core/out_of_core_scenes.h"
#include "tests/unit/viewer/null_ui.h"
#include "viewer/interaction/navigate.h"
#include "viewer/panels/panels.h"
#include "viewer/queries/duration_histogram.h"
#include "viewer/queries/flame_graph.h"
#include "viewer/queries/overview_strips.h"
#include "viewer/queries/range_statistics.h"
#include "viewer/timeline/describe.h"

namespace stepscope::viewer {
namespace {

constexpr Viewport kArea{700, 6000, 1};

support::SyntheticOptions two_ranks() {
  return {.devices = 2, .steps = 24, .process_per_device = true, .input_delay_ns = 2'000'000};
}

std::vector<TimeWindow> windows_of(Scene const& scene) {
  auto const length = static_cast<double>(scene.length);
  return {{0, length},
          {length * 0.3, length * 0.4},
          {length * 0.5, length * 0.503},
          {length * 0.9, length * 1.02}};
}

/// (rank, track, start, duration) of an event, in memory or not.
std::tuple<uint32_t, uint32_t, int64_t, int64_t> place_of(Scene const& scene,
                                                          Selection const& selection) {
  auto const at = scene.find(selection);
  if (!at) return {selection.rank, selection.track, selection.start, selection.dur};
  auto const& columns = at->trace->columns();
  return {selection.rank, columns.track[at->row].value, columns.start[at->row],
          columns.dur[at->row]};
}

void expect_same_items(Scene const& in_memory, Layout const& expected, Layout const& found) {
  ASSERT_EQ(found.rows.size(), expected.rows.size());
  for (size_t r = 0; r < expected.rows.size(); ++r) {
    Row const& row = expected.rows[r];
    Row const& other = found.rows[r];
    SCOPED_TRACE(in_memory.nodes[row.node].path);
    EXPECT_EQ(other.y0, row.y0);
    EXPECT_EQ(other.y1, row.y1);
    ASSERT_EQ(other.last_item - other.first_item, row.last_item - row.first_item);

    for (uint32_t i = 0; i < row.last_item - row.first_item; ++i) {
      Item const& a = expected.items[row.first_item + i];
      Item const& b = found.items[other.first_item + i];
      EXPECT_EQ(std::tuple(b.kind, b.x0, b.x1, b.y0, b.y1, b.paint, b.idle, b.count),
                std::tuple(a.kind, a.x0, a.x1, a.y0, a.y1, a.paint, a.idle, a.count));
      if (a.kind == ItemKind::kSegment) continue;
      EXPECT_NEAR(b.fill, a.fill, 1e-6);
      uint32_t const rank = in_memory.nodes[row.node].rank;
      EXPECT_EQ(row.trace().start(a.index), other.trace().start(b.index));
      EXPECT_EQ(row.trace().name(a.index), other.trace().name(b.index));
      EXPECT_EQ(in_memory.trace(rank).kind(a.index), other.trace().kind(b.index));
    }
  }
}

/// Row of the first event that the predicate holds for.
template <class Is>
uint32_t row_where(model::Trace const& trace, Is is) {
  uint32_t row = 0;
  while (row < trace.event_count() && !is(row)) ++row;
  EXPECT_LT(row, trace.event_count());
  return row;
}

/// The same event as a selection in the out-of-core run.
Selection out_of_core_selection(Scene const& out_of_core, uint32_t rank, model::Trace const& trace,
                                uint32_t row) {
  return out_of_core.selection_of(rank, trace, row);
}

TEST_F(OutOfCoreTest, HasTheRowsOfTheRunInMemory) {
  write(support::make_synthetic_run(two_ranks()));
  Scene const expected = open_in_memory();
  auto const scene = open_out_of_core();

  EXPECT_EQ(scene->events, expected.events);
  EXPECT_EQ(scene->origin, expected.origin);
  EXPECT_EQ(scene->length, expected.length);

  ASSERT_EQ(scene->nodes.size(), expected.nodes.size());
  for (size_t i = 0; i < expected.nodes.size(); ++i) {
    EXPECT_EQ(scene->nodes[i].path, expected.nodes[i].path);
    EXPECT_EQ(scene->nodes[i].kind, expected.nodes[i].kind);
    EXPECT_EQ(scene->nodes[i].subtree_end, expected.nodes[i].subtree_end);
    EXPECT_EQ(scene->nodes[i].lane_count, expected.nodes[i].lane_count) << expected.nodes[i].path;
  }
  for (model::RankTrace const& rank : scene->run.ranks) EXPECT_EQ(rank.trace.event_count(), 0U);
}

TEST_F(OutOfCoreTest, ShowsStepsAndBusyMarksBeforeAnythingIsReadOrAnalyzed) {
  write(support::make_synthetic_run(two_ranks()));
  Scene const expected = open_in_memory();
  auto const scene = open_out_of_core();

  ViewState const state = initial_view(*scene);
  Layout const layout = lay_out(*scene, state, kArea);
  ASSERT_EQ(layout.steps.size(), lay_out(expected, state, kArea).steps.size());

  for (Row const& row : layout.rows) {
    NodeKind const kind = scene->nodes[row.node].kind;
    if (kind == NodeKind::kStream || kind == NodeKind::kThread || kind == NodeKind::kDevice) {
      EXPECT_LT(row.first_item, row.last_item) << scene->nodes[row.node].path;
    }
    EXPECT_FALSE(row.has_events());
  }
}

TEST_F(OutOfCoreTest, MarksAreAsFullAsTheTimeThatIsBusy) {
  constexpr int64_t kEvents = 120'000;
  model::TraceBuilder builder;
  auto const track = add_stream(builder);
  auto const name = builder.intern("k");
  std::mt19937 random(7);
  std::vector<std::pair<int64_t, int64_t>> busy;

  for (int64_t i = 0, time = 0; i < kEvents; ++i) {
    // Busy and idle parts of the run.
    int64_t const dur = 100 + static_cast<int64_t>(random() % 900);
    builder.events(track).add(model::EventKind::kKernel, time, dur, name, 0, model::KernelDetail{});
    busy.emplace_back(time, time + dur);
    time += dur + static_cast<int64_t>(random() % ((i / 10'000) % 2 == 0 ? 100 : 5000));
  }

  model::Run run;
  run.ranks.push_back({std::move(builder).finish(), 0, ""});
  write(run);
  auto const scene = open_out_of_core();
  ViewState state = initial_view(*scene);
  auto const length = static_cast<double>(scene->length);

  for (double const share : {1.0, 0.6, 0.21}) {
    state.window = {length * 0.2 * (1 - share), length * (0.2 * (1 - share) + share)};
    Layout const layout = lay_out(*scene, state, {60, 500, 1});
    std::vector<double> expected(60), found(60);
    double const pixel = state.window.span() / 60;

    for (auto const& [begin, end] : busy)
      for (int i = 0; i < 60; ++i) {
        double const from =
            std::max(static_cast<double>(begin - scene->origin), state.window.begin + i * pixel);
        double const until = std::min(static_cast<double>(end - scene->origin),
                                      state.window.begin + (i + 1) * pixel);
        if (until > from) expected[static_cast<size_t>(i)] += (until - from) / pixel;
      }

    for (Item const& item : layout.items)
      if (item.kind == ItemKind::kDensity)
        found[static_cast<size_t>(item.x0)] = static_cast<double>(item.fill);

    // The grid spreads bins at the border of a pixel evenly; the closest zoom has about 4 bins a
    // pixel.
    for (size_t i = 0; i < 60; ++i)
      EXPECT_NEAR(found[i], expected[i], 0.08) << i << " of " << share;
  }
}

TEST_F(OutOfCoreTest, DrawsTheSameEventsOnceTheyWereRead) {
  write(support::make_synthetic_run(two_ranks()));
  Scene const expected = open_in_memory();
  auto const scene = open_out_of_core();
  analyze(*scene);
  ViewState state = initial_view(expected);

  for (TimeWindow const& window : windows_of(expected)) {
    state.window = window;
    SCOPED_TRACE(window.begin);
    expect_same_items(expected, lay_out(expected, state, kArea), settled(*scene, state, kArea));
  }
}

TEST_F(OutOfCoreTest, DrawsClosedRanksAsTheyAre) {
  write(support::make_synthetic_run(two_ranks()));
  Scene const expected = open_in_memory();
  auto const scene = open_out_of_core();
  analyze(*scene);

  ViewState state = initial_view(expected);
  for (uint32_t node = 0; node < expected.nodes.size(); node = expected.nodes[node].subtree_end)
    state.closed.insert(node);
  auto const length = static_cast<double>(expected.length);
  state.window = {length * 0.4, length * 0.45};

  expect_same_items(expected, lay_out(expected, state, kArea), settled(*scene, state, kArea));
}

TEST_F(OutOfCoreTest, KeepsTheMarksOfATrackWithADamagedBlock) {
  write(support::make_synthetic_run(two_ranks()));

  uint32_t damaged = UINT32_MAX;
  uint64_t offset = 0;
  {
    auto const file = file::TraceFile::open(path(0));
    ASSERT_TRUE(file);
    for (file::IndexEntry const& block : file->blocks())
      if (block.header.type == 1 || block.header.rows > 100) {
        if (block.header.track >= file->tracks().size() ||
            file->tracks()[block.header.track].kind != model::TrackKind::kStream)
          continue;
        if ((block.header.kinds & file::kind_bit(model::EventKind::kKernel)) == 0) continue;
        damaged = block.header.track;
        offset = block.offset + block.size / 2;
      }
  }
  ASSERT_NE(damaged, UINT32_MAX);

  {
    std::fstream bytes(path(0), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(offset));
    char byte = 0;
    bytes.get(byte);
    bytes.seekp(static_cast<std::streamoff>(offset));
    bytes.put(static_cast<char>(byte ^ 0x5A));
  }

  auto const scene = open_out_of_core();
  ViewState state = initial_view(*scene);
  auto const length = static_cast<double>(scene->length);
  state.window = {length * 0.4, length * 0.6};
  Layout const layout = settled(*scene, state, kArea);

  int with_events = 0;
  for (Row const& row : layout.rows) {
    Node const& node = scene->nodes[row.node];
    if (node.kind != NodeKind::kStream && node.kind != NodeKind::kThread) continue;
    if (node.rank == 0 && node.track == damaged) {
      EXPECT_FALSE(row.has_events());
      EXPECT_LT(row.first_item, row.last_item);
    } else {
      with_events += row.has_events() ? 1 : 0;
    }
  }
  EXPECT_GT(with_events, 2);

  NullUi ui;
  ui.frames(*scene, state, 3);
}

TEST_F(OutOfCoreTest, OpensAFileWithoutSummaries) {
  auto const run = support::make_synthetic_run(two_ranks());
  for (size_t r = 0; r < run.ranks.size(); ++r) {
    model::Trace const& trace = run.ranks[r].trace;
    auto writer = file::TraceWriter::create(path(static_cast<int>(r)));
    ASSERT_TRUE(writer);

    std::vector<std::string_view> texts;
    for (uint32_t id = 1; id < trace.strings().size(); ++id)
      texts.push_back(trace.text(model::StringId{id}));
    ASSERT_TRUE(writer->write_strings(1, texts));
    ASSERT_TRUE(writer->write_description(trace.info(), trace.devices(), trace.log()));
    ASSERT_TRUE(writer->write_tracks(model::TrackId{0}, trace.tracks()));

    for (uint32_t t = 0; t < trace.tracks().size(); ++t)
      if (trace.rows_of(model::TrackId{t}).size() > 0) {
        ASSERT_TRUE(
            writer->write_sorted_events(model::TrackId{t}, trace.events_of(model::TrackId{t})));
      }
    ASSERT_TRUE(writer->finish());
  }

  Scene const expected = open_in_memory();
  auto const scene = open_out_of_core();
  ViewState state = initial_view(*scene);

  ASSERT_EQ(scene->nodes.size(), expected.nodes.size());
  EXPECT_EQ(lay_out(*scene, state, kArea).steps.size(),
            lay_out(expected, state, kArea).steps.size());
  for (size_t i = 0; i < expected.nodes.size(); ++i)
    EXPECT_EQ(scene->nodes[i].lane_count, expected.nodes[i].lane_count);
}

TEST_F(OutOfCoreTest, FindsASelectedEventAgainAndWhatBelongsToIt) {
  write(support::make_synthetic_run(two_ranks()));
  Scene const expected = open_in_memory();
  auto const scene = open_out_of_core();
  analyze(*scene);

  model::Trace const& trace = expected.trace(1);
  uint32_t const row = row_where(trace, [&](uint32_t r) {
    return trace.kind(r) == model::EventKind::kKernel && trace.columns().link[r].valid() &&
           trace.start(r) > expected.length / 2;
  });

  Selection const chosen = out_of_core_selection(*scene, 1, trace, row);
  Selection const in_memory{Selection::What::kEvent, 1, row};
  EXPECT_EQ(scene->when(chosen), expected.when(in_memory));
  EXPECT_EQ(scene->node_of(chosen), expected.node_of(in_memory));

  // Not on the screen: the view is elsewhere.
  ViewState state = initial_view(*scene);
  state.window = {0, 1000};
  EXPECT_FALSE(scene->find(chosen));
  EXPECT_FALSE(event_properties(*scene, chosen).empty());

  state.selection = chosen;
  static_cast<void>(settled(*scene, state, kArea));
  ASSERT_TRUE(scene->find(chosen));
  EXPECT_EQ(event_properties(*scene, chosen), event_properties(expected, in_memory));

  ViewState other = initial_view(expected);
  other.selection = in_memory;
  ASSERT_TRUE(follow_link(other, expected, 400));
  ASSERT_TRUE(follow_link(state, *scene, 400));
  EXPECT_EQ(place_of(*scene, *state.selection), place_of(expected, *other.selection));
}

TEST_F(OutOfCoreTest, FollowsACollectiveFromRankToRank) {
  write(support::make_synthetic_run(two_ranks()));
  Scene const expected = open_in_memory();
  auto const scene = open_out_of_core();
  analyze(*scene);
  ASSERT_EQ(scene->analysis.collectives.size(), expected.analysis.collectives.size());
  auto const& facts = scene->analysis.collectives.at(5);

  ViewState state = initial_view(*scene);
  select(state, *scene, scene->selection_of(facts.participants.at(0)));
  EXPECT_EQ(scene->collective_of(*state.selection), &facts);
  ASSERT_TRUE(follow_collective(state, *scene, 400));
  EXPECT_EQ(state.selection, scene->selection_of(facts.participants.at(1)));

  Layout const layout = settled(*scene, state, kArea);
  auto const at = scene->find(*state.selection);
  ASSERT_TRUE(at);
  EXPECT_EQ(at->trace->kind(at->row), model::EventKind::kCollective);
  EXPECT_GE(layout.related.size(), 2U);
}

TEST_F(OutOfCoreTest, SearchFindsWhatASearchInMemoryFinds) {
  write(support::make_synthetic_run(two_ranks()));
  Scene const expected = open_in_memory();
  auto const scene = open_out_of_core();

  for (char const* text :
       {"forward", "all", "kind:launch", ">1ms", "rank:1 kind:kernel", "nothing has this name",
        "forward >2ms", "<10us", "kind:kernel <1ms", ">=100h", "rank:0 backward", "\"step\""}) {
    SearchHits const a = find_hits(expected, text);
    SearchHits const b = find_hits(*scene, text);
    EXPECT_EQ(b.total, a.total) << text;
    ASSERT_EQ(b.hits.size(), a.hits.size()) << text;

    std::multiset<std::tuple<uint32_t, uint32_t, int64_t, int64_t>> in_memory, out_of_core;
    for (Selection const& hit : a.hits) in_memory.insert(place_of(expected, hit));
    for (Selection const& hit : b.hits) out_of_core.insert(place_of(*scene, hit));
    EXPECT_EQ(out_of_core, in_memory) << text;
    for (size_t i = 1; i < b.hits.size(); ++i)
      EXPECT_LE(scene->when(b.hits[i - 1]).begin, scene->when(b.hits[i]).begin);
  }

  std::stop_source stopped;
  stopped.request_stop();
  EXPECT_EQ(find_hits(*scene, "kind:kernel", stopped.get_token()).total, 0U);
}

TEST_F(OutOfCoreTest, FirstHitsAreShownWhileTheSearchGoesOn) {
  write(support::make_synthetic_run(two_ranks()));
  auto const scene = open_out_of_core();
  SearchFeed feed;
  SearchHits const all = find_hits(*scene, "kind:kernel", {}, &feed);

  auto first = feed.take();
  ASSERT_TRUE(first);
  EXPECT_GT(first->total, 0U);
  EXPECT_FALSE(feed.take());

  ViewState state = initial_view(*scene);
  search_for(state, "kind:kernel");
  show_first_hits(state, std::move(*first));
  EXPECT_TRUE(state.search.pending);
  step_search(state, *scene, 1, 400);
  Selection const shown = *state.selection;

  show_first_hits(state, all);
  ASSERT_TRUE(state.search.current);
  EXPECT_EQ(state.search.hits[*state.search.current], shown);
}

TEST_F(OutOfCoreTest, SumsOfARangeAreThoseOfTheRunInMemory) {
  write(support::make_synthetic_run(two_ranks()));
  Scene const expected = open_in_memory();
  auto const scene = open_out_of_core();
  analyze(*scene);

  for (TimeWindow const& window : windows_of(expected)) {
    RangeStatistics const a = range_statistics(expected, window);
    RangeStatistics const b = range_statistics(*scene, window);
    ASSERT_EQ(b.devices.size(), a.devices.size());
    for (size_t i = 0; i < a.devices.size(); ++i) {
      EXPECT_EQ(b.devices[i].time, a.devices[i].time);
      EXPECT_EQ(b.devices[i].idle, a.devices[i].idle);
      EXPECT_EQ(b.devices[i].outside, a.devices[i].outside);
    }

    EXPECT_EQ(b.op_count, a.op_count);
    ASSERT_EQ(b.ops.size(), a.ops.size());
    for (size_t i = 0; i < a.ops.size(); ++i)
      EXPECT_EQ(std::tuple(b.ops[i].name, b.ops[i].count, b.ops[i].total),
                std::tuple(a.ops[i].name, a.ops[i].count, a.ops[i].total));
  }
}

TEST_F(OutOfCoreTest, PanelsHaveTheNumbersOfTheRunInMemory) {
  write(support::make_synthetic_run(two_ranks()));
  Scene const expected = open_in_memory();
  auto const scene = open_out_of_core();
  analyze(*scene);
  EXPECT_EQ(scene->analysis.findings.size(), expected.analysis.findings.size());

  HistogramKey const key{expected.analysis.kernels.at(0).ref, expected.analysis.kernels.at(0).name,
                         20};
  DurationHistogram const a = duration_histogram(expected, key);
  DurationHistogram const b = duration_histogram(*scene, key);
  EXPECT_EQ(std::tuple(b.count, b.median_ns, b.shortest_ns, b.longest_ns),
            std::tuple(a.count, a.median_ns, a.shortest_ns, a.longest_ns));

  uint32_t thread = 0;
  while (expected.nodes[thread].kind != NodeKind::kThread) ++thread;
  auto const length = static_cast<double>(expected.length);
  FlameKey const flames{thread, {length * 0.2, length * 0.7}};
  FlameGraph const in_memory = flame_graph(expected, flames);
  FlameGraph const out_of_core = flame_graph(*scene, flames);
  EXPECT_EQ(out_of_core.total_ns, in_memory.total_ns);
  ASSERT_EQ(out_of_core.boxes.size(), in_memory.boxes.size());
  uint32_t const rank = expected.nodes[thread].rank;
  for (size_t i = 0; i < in_memory.boxes.size(); ++i)
    EXPECT_EQ(scene->trace(rank).text(model::StringId{out_of_core.boxes[i].name}),
              expected.trace(rank).text(model::StringId{in_memory.boxes[i].name}));
}

TEST_F(OutOfCoreTest, DrawsEveryPanelBeforeAndAfterItIsAnalyzed) {
  write(support::make_synthetic_run(two_ranks()));
  auto const scene = open_out_of_core();
  ViewState state = initial_view(*scene);
  NullUi ui;

  for (bool const analyzed : {false, true}) {
    if (analyzed) analyze(*scene);
    for (Panel const& panel : all_panels()) {
      state.panels.tab = Tab{panel.id};
      ui.frames(*scene, state, 2);
    }
    for (float y = 160; y < 560; y += 9) {
      ui.click(*scene, state, 700, y);
      ui.frames(*scene, state, 2);
    }
  }

  EXPECT_FALSE(overview_strips(*scene, 300).devices.empty());
}

}  // namespace
}  // namespace stepscope::viewer
