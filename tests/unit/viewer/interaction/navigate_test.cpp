#include "viewer/interaction/navigate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "tests/unit/viewer/scenes.h"
#include "viewer/timeline/layout.h"

namespace stepscope::viewer {
namespace {

Scene const& scene() {
  static Scene const kScene = synthetic_scene(
      {.devices = 3, .steps = 10, .process_per_device = true, .input_delay_ns = 8'000'000});
  return kScene;
}

/// Four ranks. Rank 2 computes longer, and the others wait for it.
Scene const& scene_with_culprit() {
  static Scene const kScene = [] {
    Scene scene = synthetic_scene(
        {.devices = 4, .process_per_device = true, .straggler_device = 2, .straggler_factor = 2});

    auto& findings = scene.analysis.findings;
    auto const at = std::find_if(findings.begin(), findings.end(),
                                 [](auto const& finding) { return finding.rule == "straggler"; });
    std::rotate(findings.begin(), at, at + 1);
    return scene;
  }();
  return kScene;
}

TEST(FocusFinding, ShowsTheCulpritBesideThoseThatWait) {
  Scene const& run = scene_with_culprit();
  ASSERT_EQ(run.analysis.findings[0].rule, "straggler");
  ViewState state = initial_view(run);
  std::set<uint32_t> const closed = state.closed;
  focus_finding(state, run, {0, 0}, 200);
  EXPECT_EQ(state.closed, closed);  // four rows, which fit: none was opened

  Layout const layout = lay_out(run, state, {1000, 200, 1});
  ASSERT_TRUE(layout.cause);
  EXPECT_EQ(run.nodes[layout.rows[*layout.cause].node].rank, 2U);
  ASSERT_FALSE(layout.evidence.empty());
  EXPECT_EQ(layout.evidence[0].index, 0U);
  auto const at = [&](Row const& row) { return row.y0 == layout.evidence[0].y0; };
  auto const victim = std::find_if(layout.rows.begin(), layout.rows.end(), at);
  ASSERT_NE(victim, layout.rows.end());
  EXPECT_NE(run.nodes[victim->node].rank, 2U);
}

TEST(FocusFinding, NamesNoCulpritWhereThePlacesAreItsOwn) {
  ViewState state = open_view(scene());
  ASSERT_FALSE(scene().analysis.findings.empty());
  focus_finding(state, scene(), {0, 0}, 600);
  EXPECT_FALSE(lay_out(scene(), state, {1000, 600, 1}).cause);
}

/// A thread that is taller than the screen is seen together with the device that it left idle.
TEST(ScrollTo, BeginsWithTheFirstOfWhatHasNoRoom) {
  ViewState state = open_view(scene());
  auto const device = scene().node_of_device(scene().analysis.devices[0].ref);
  auto const next = scene().node_of_device(scene().analysis.devices[1].ref);
  ASSERT_TRUE(device && next);
  float const top = node_extent(scene(), state, *device).first;

  scroll_to(state, scene(), std::array{*next, *device}, 120);
  auto const [next_top, next_bottom] = node_extent(scene(), state, *next);
  EXPECT_LE(state.scroll, next_top);  // the first of them is seen whole
  EXPECT_GE(state.scroll + 120, next_bottom);

  float const distance = next_bottom - top;
  scroll_to(state, scene(), std::array{*next, *device}, distance + 10);
  EXPECT_LE(state.scroll, top);  // with more room both
  EXPECT_GE(state.scroll + distance + 10, next_bottom);
}

TEST(Zoom, KeepsTheTimeUnderTheCursor) {
  std::mt19937 random(1);
  ViewState state = initial_view(scene());

  for (int i = 0; i < 2000; ++i) {
    double const anchor = static_cast<double>(random() % 1001) / 1000;
    double const factor = 0.5 + static_cast<double>(random() % 1000) / 1000;
    TimeWindow const before = state.window;
    zoom(state, scene(), factor, anchor);

    double const was = before.begin + before.span() * anchor;
    double const is = state.window.begin + state.window.span() * anchor;
    // At the borders of the run the window stops instead. Inside the run the time stays within a
    // thousandth of a pixel.
    bool const inside = before.begin > 0 && before.end < static_cast<double>(scene().length) &&
                        state.window.begin > 0 &&
                        state.window.end < static_cast<double>(scene().length);
    if (inside) {
      EXPECT_NEAR(is, was, state.window.span() / 1e6 + 1e-3);
    }

    if (state.window.span() < 1000) state = initial_view(scene());
  }
}

TEST(Zoom, StopsAtTheFinestAndTheWidestWindow) {
  ViewState state = initial_view(scene());
  for (int i = 0; i < 200; ++i) zoom(state, scene(), 0.5, 0.3);
  EXPECT_DOUBLE_EQ(state.window.span(), kMinSpan);
  for (int i = 0; i < 200; ++i) zoom(state, scene(), 2, 0.3);
  EXPECT_LE(state.window.span(), static_cast<double>(scene().length) * 2.001);
}

// The reach is longer than the run where a longer run is shown below it.
TEST(Zoom, AndPanGoAsFarAsThereIsSomethingToSee) {
  ViewState state = initial_view(scene());
  auto const length = static_cast<double>(scene().length);
  state.reach = state.window = TimeWindow{-length, 3 * length};

  zoom(state, scene(), 0.9, 1);
  EXPECT_NEAR(state.window.span(), 3.6 * length, 1);
  EXPECT_NEAR(state.window.end, 3 * length, 1);

  zoom(state, scene(), 0.1, 1);
  pan(state, scene(), -0.1);
  EXPECT_GT(state.window.begin, length);

  state.reach.reset();
  pan(state, scene(), 0);
  EXPECT_LT(state.window.begin, length);
}

TEST(Pan, NeverLosesTheRun) {
  for (double const direction : {-1.0, 1.0}) {
    ViewState state = initial_view(scene());
    zoom(state, scene(), 0.1, 0.5);
    for (int i = 0; i < 100; ++i) pan(state, scene(), direction);
    EXPECT_GT(state.window.end, 0);
    EXPECT_LT(state.window.begin, static_cast<double>(scene().length));
  }
}

TEST(Pan, KeepsTheZoom) {
  ViewState state = initial_view(scene());
  zoom(state, scene(), 0.01, 0.5);
  double const span = state.window.span();
  pan(state, scene(), 0.7);
  EXPECT_NEAR(state.window.span(), span, 1e-6);
}

TEST(Undo, ReturnsThroughAllMovesToTheFirstView) {
  ViewState state = initial_view(scene());
  TimeWindow const first = state.window;

  go_to(state, scene(), {1e6, 5e6});
  TimeWindow const second = state.window;
  go_to(state, scene(), {2e6, 3e6});

  undo(state);
  EXPECT_EQ(state.window, second);
  undo(state);
  EXPECT_EQ(state.window, first);
  undo(state);
  EXPECT_EQ(state.window, first);
}

TEST(Undo, RemembersABoundedNumberOfMoves) {
  ViewState state = initial_view(scene());
  for (int i = 1; i < 1000; ++i) go_to(state, scene(), {i * 1e3, i * 1e3 + 1e6});
  EXPECT_EQ(state.history.size(), kMaxHistory);
}

TEST(Undo, OfManySmallWheelTurnsIsFewMoves) {
  ViewState state = initial_view(scene());
  for (int i = 0; i < 40; ++i) {
    remember_if_distant(state);
    zoom(state, scene(), 0.8, 0.5);
  }
  EXPECT_GE(state.history.size(), 3U);
  EXPECT_LE(state.history.size(), 12U);
}

TEST(Reveal, OpensTheGroupsAroundATrackAndScrollsToIt) {
  ViewState state = initial_view(scene());
  uint32_t const last = static_cast<uint32_t>(scene().nodes.size() - 1);
  for (uint32_t i = 0; i < scene().nodes.size(); ++i)
    if (scene().nodes[i].subtree_end > i + 1) state.closed.insert(i);

  reveal(state, scene(), last, 100);
  for (uint32_t i = 0; i < last; ++i)
    if (scene().nodes[i].subtree_end > last) {
      EXPECT_FALSE(state.closed.contains(i));
    }

  auto const [top, bottom] = node_extent(scene(), state, last);
  EXPECT_GE(top, state.scroll);
  EXPECT_LE(bottom, state.scroll + 100);
}

TEST(FollowLink, GoesToTheDeviceOpAndBack) {
  auto const& columns = scene().trace(1).columns();
  uint32_t row = 0;
  while (columns.kind[row] != model::EventKind::kLaunch || !columns.link[row].valid()) ++row;

  ViewState state = initial_view(scene());
  Selection const launch{Selection::What::kEvent, 1, row};
  select(state, scene(), launch);

  ASSERT_TRUE(follow_link(state, scene(), 300));
  EXPECT_EQ(state.selection->index, columns.link[row].value);
  ASSERT_TRUE(follow_link(state, scene(), 300));
  EXPECT_EQ(*state.selection, launch);
}

TEST(StepSameName, WalksOverAllEventsOfTheNameOnTheTrack) {
  auto const& trace = scene().trace(0);
  uint32_t row = 0;
  while (trace.kind(row) != model::EventKind::kInputWait) ++row;

  ViewState state = initial_view(scene());
  select(state, scene(), {Selection::What::kEvent, 0, row});

  int steps = 1;
  while (step_same_name(state, scene(), 1)) ++steps;
  EXPECT_EQ(steps, 10);
  while (step_same_name(state, scene(), -1)) --steps;
  EXPECT_EQ(steps, 1);
  EXPECT_EQ(state.selection->index, row);
}

TEST(Search, FindsNamesWhateverTheirCaseOnAllRanks) {
  ViewState state = initial_view(scene());
  state.search.text = "WAIT FOR BATCH";
  run_search(state, scene());
  EXPECT_EQ(state.search.total, 30U);
  for (size_t i = 1; i < state.search.hits.size(); ++i)
    EXPECT_LE(scene().when(state.search.hits[i - 1]).begin,
              scene().when(state.search.hits[i]).begin);
}

TEST(Search, GoesToTheFirstHitInViewAndAroundTheEnd) {
  ViewState state = initial_view(scene());
  go_to(state, scene(), {100e6, 140e6});
  state.search.text = "wait for batch";
  run_search(state, scene());
  step_search(state, scene(), 1, 300);
  EXPECT_GE(scene().when(*state.selection).begin, 100'000'000);
  auto const first = *state.search.current;
  for (uint64_t i = 0; i < state.search.total; ++i) step_search(state, scene(), 1, 300);
  EXPECT_EQ(*state.search.current, first);
}

TEST(Search, ShowsItsHitInTheWindow) {
  ViewState state = initial_view(scene());
  state.search.text = "all_reduce";
  run_search(state, scene());
  for (int i = 0; i < 50; ++i) {
    step_search(state, scene(), 1, 300);
    model::Interval const when = scene().when(*state.selection);
    EXPECT_GE(static_cast<double>(when.begin), state.window.begin);
    EXPECT_LE(static_cast<double>(when.end), state.window.end);
  }
}

TEST(Search, OfAnUnknownNameHasNoHitsAndSelectsNothing) {
  ViewState state = initial_view(scene());
  state.search.text = "no such name";
  run_search(state, scene());
  step_search(state, scene(), 1, 300);
  EXPECT_EQ(state.search.total, 0U);
  EXPECT_FALSE(state.selection);
}

TEST(FocusFinding, ShowsTheEvidenceWithItsSurroundings) {
  for (uint32_t f = 0; f < scene().analysis.findings.size(); ++f) {
    auto const& finding = scene().analysis.findings[f];
    for (uint32_t e = 0; e < finding.evidence.size(); ++e) {
      ViewState state = initial_view(scene());
      focus_finding(state, scene(), {f, e}, 300);

      EXPECT_LE(state.window.begin,
                static_cast<double>(scene().to_view(finding.evidence[e].when.begin)));
      EXPECT_GE(state.window.end,
                static_cast<double>(scene().to_view(finding.evidence[e].when.end)));
      EXPECT_EQ(state.finding, (FindingFocus{f, e}));
    }
  }
}

TEST(FocusFinding, ShowsHardlyAnyEmptyRoomAroundTheRun) {
  Scene run = synthetic_scene({.devices = 1, .input_delay_ns = 8'000'000});
  auto const length = static_cast<double>(run.length);
  analyzer::Finding::Evidence& place = run.analysis.findings.at(0).evidence.at(0);
  auto const window_around = [&](double begin, double end) {
    int64_t const origin = place.when.begin - run.to_view(place.when.begin);
    place.when = {origin + static_cast<int64_t>(begin * length),
                  origin + static_cast<int64_t>(end * length)};
    ViewState state = initial_view(run);
    focus_finding(state, run, {0, 0}, 300);
    return TimeWindow{state.window.begin / length, state.window.end / length};
  };

  TimeWindow const first = window_around(0, 0.1), last = window_around(0.9, 1),
                   most = window_around(0.1, 0.7), middle = window_around(0.5, 0.52);
  EXPECT_NEAR(first.begin, -0.01, 0.005);
  EXPECT_NEAR(first.span(), 0.5, 1e-6) << "as much as of any place of this length";
  EXPECT_NEAR(last.end, 1.01, 0.005);
  EXPECT_NEAR(last.span(), 0.5, 1e-6);
  EXPECT_NEAR(most.begin, -0.02, 0.005);
  EXPECT_NEAR(most.end, 1.02, 0.005);
  EXPECT_NEAR(middle.begin, 0.46, 1e-6);
  EXPECT_NEAR(middle.end, 0.56, 1e-6);
}

TEST(InitialView, ClosesTheDevicesOfARankThatHasMany) {
  for (int32_t const devices : {2, 3}) {
    Scene const run = synthetic_scene({.devices = devices});
    ViewState const state = initial_view(run);
    EXPECT_FALSE(state.closed.contains(0)) << "the rank";
    for (uint32_t node = 0; node < run.nodes.size(); ++node) {
      bool const is_device = run.nodes[node].kind == NodeKind::kDevice;
      EXPECT_EQ(state.closed.contains(node), is_device && devices > 2) << node;
    }
  }
}

TEST(FocusFinding, IgnoresAFindingThatIsNotThere) {
  ViewState state = initial_view(scene());
  ViewState const before = state;
  focus_finding(state, scene(), {1000, 0}, 300);
  EXPECT_EQ(state, before);
}

TEST(Dismiss, ClosesOneThingAtATime) {
  ViewState state = initial_view(scene());
  state.panels.help = true;
  state.search = {
      .open = true, .text = "x", .pending = false, .hits = {}, .total = 0, .current = {}};
  state.range = TimeWindow{1, 2};
  state.selection = Selection{};
  state.finding = FindingFocus{};

  dismiss(state);
  EXPECT_FALSE(state.panels.help);
  EXPECT_TRUE(state.search.open);
  dismiss(state);
  EXPECT_FALSE(state.search.open);

  state.panels.seek = SameNameSeek{};
  state.panels.seek->is_over = true;
  state.panels.finder.open = true;
  dismiss(state);
  EXPECT_FALSE(state.panels.finder.open);
  EXPECT_TRUE(state.panels.seek);

  dismiss(state);
  EXPECT_FALSE(state.panels.seek);
  dismiss(state);
  EXPECT_FALSE(state.range);
  dismiss(state);
  EXPECT_FALSE(state.selection);
  dismiss(state);
  EXPECT_FALSE(state.finding);
}

}  // namespace
}  // namespace stepscope::viewer
