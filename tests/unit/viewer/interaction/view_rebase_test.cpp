// The person's view and choices after the viewer read a longer version of the run.
#include "viewer/interaction/view_rebase.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/viewer/event_store/out_of_core/out_of_core_scenes.h"
#include "viewer/interaction/navigate.h"
#include "viewer/scene/track_choice.h"

namespace stepscope::viewer {
namespace {

support::SyntheticOptions growing_run(int steps) {
  return {.devices = 2, .steps = steps, .process_per_device = true, .input_delay_ns = 4'000'000};
}

Scene const& short_run() {
  static Scene const kScene = synthetic_scene(growing_run(6));
  return kScene;
}
Scene const& longer_run() {
  static Scene const kScene = synthetic_scene(growing_run(14));
  return kScene;
}

ViewState carried(ViewState const& state) { return carried_over(state, short_run(), longer_run()); }

/// Rank, track, start and name of an event that is in memory.
std::tuple<uint32_t, uint32_t, int64_t, std::string> what(Scene const& scene,
                                                          Selection const& selection) {
  model::Trace const& trace = scene.trace(selection.rank);
  auto const& columns = trace.columns();
  return {selection.rank, columns.track[selection.index].value, columns.start[selection.index],
          std::string(trace.name(selection.index))};
}

TEST(CarriedWindow, OfAllShowsAll) {
  ViewState const next = carried(initial_view(short_run()));
  EXPECT_EQ(next.window, (TimeWindow{0, static_cast<double>(longer_run().length)}));
}

TEST(CarriedWindow, AtTheEndGoesWithTheEnd) {
  ViewState state = initial_view(short_run());
  auto const length = static_cast<double>(short_run().length);
  state.window = {length - 5e6, length + 1e6};
  auto const grown = static_cast<double>(longer_run().length);
  EXPECT_NEAR(carried(state).window.begin, grown - 5e6, 1);
  EXPECT_NEAR(carried(state).window.end, grown + 1e6, 1);
}

TEST(CarriedWindow, ElsewhereStaysAtItsTime) {
  ViewState state = initial_view(short_run());
  state.window = {2e6, 9e6};
  state.range = TimeWindow{3e6, 4e6};
  state.history = {{1e6, 2e6}};
  ViewState const next = carried(state);
  double const by = static_cast<double>(short_run().origin - longer_run().origin);
  EXPECT_EQ(next.window, (TimeWindow{2e6 + by, 9e6 + by}));
  EXPECT_EQ(next.range, (TimeWindow{3e6 + by, 4e6 + by}));
  EXPECT_THAT(next.history, testing::ElementsAre(TimeWindow{1e6 + by, 2e6 + by}));
}

TEST(CarriedTimes, FollowARunThatBeginsEarlierThanWasKnown) {
  auto const made = [](int64_t first) {
    return scene_of([&](model::TraceBuilder& builder) {
      auto const thread = add_thread(builder);
      builder.events(thread).add(model::EventKind::kRange, first, 10, builder.intern("first"));
      builder.events(thread).add(model::EventKind::kRange, 5'000, 10, builder.intern("known"));
      builder.events(thread).add(model::EventKind::kRange, 9'000, 10, builder.intern("last"));
    });
  };
  Scene const before = made(4'000);
  Scene const after = made(1'000);

  ViewState state = initial_view(before);
  state.notes = {{1'000, "at known"}};
  state.range = TimeWindow{1'000, 1'010};
  state.panels.memory_at = 1'000;
  state.selection = Selection{Selection::What::kEvent, 0, 1};

  ViewState const next = carried_over(state, before, after);
  EXPECT_EQ(next.notes.at(0).time_ns, 4'000);
  EXPECT_EQ(next.notes.at(0).text, "at known");
  EXPECT_EQ(next.range, (TimeWindow{4'000, 4'010}));
  EXPECT_EQ(next.panels.memory_at, 4'000);
  ASSERT_TRUE(next.selection);
  EXPECT_EQ(after.when(*next.selection).begin, 4'000);
}

TEST(CarriedSelection, IsTheSameEventWhateverItsRow) {
  for (uint32_t const row : {0U, 3U, 40U, short_run().trace(1).event_count() - 1}) {
    ViewState state = initial_view(short_run());
    state.selection = Selection{Selection::What::kEvent, 1, row};
    ViewState const next = carried(state);
    ASSERT_TRUE(next.selection) << row;
    EXPECT_EQ(what(longer_run(), *next.selection), what(short_run(), *state.selection));
  }
}

TEST(CarriedSelection, OfAGapIsTheGapOfThatTime) {
  ASSERT_GT(short_run().analysis.gaps.size(), 2U);
  ViewState state = initial_view(short_run());
  state.selection = Selection{Selection::What::kGap, 0, 1};
  ViewState const next = carried(state);
  ASSERT_TRUE(next.selection);
  auto const before = short_run().analysis.gaps[1];
  auto const after = longer_run().analysis.gaps[next.selection->index];
  EXPECT_EQ(after.when.begin, before.when.begin);
  EXPECT_EQ(after.ref, before.ref);
}

TEST(CarriedSelection, ThatIsNotThereAnyMoreIsNone) {
  ViewState state = initial_view(longer_run());
  state.selection = Selection{Selection::What::kEvent, 1, longer_run().trace(1).event_count() - 1};
  state.panels.compared = static_cast<uint32_t>(longer_run().analysis.steps.size() - 1);
  state.panels.flash = Flash{UINT32_MAX, 1};
  state.closed = {UINT32_MAX};

  ViewState const next = carried_over(state, longer_run(), short_run());
  EXPECT_FALSE(next.selection);
  EXPECT_FALSE(next.panels.compared);
  EXPECT_FALSE(next.panels.flash);
  EXPECT_TRUE(next.closed.empty());
}

TEST(CarriedChoice, IsOfTheSameTracksFindingsStepsAndDevices) {
  ViewState state = initial_view(short_run());
  ASSERT_FALSE(short_run().analysis.findings.empty());
  uint32_t const rank = *node_of_path(short_run(), "Rank 1");

  state.closed = {rank};
  state.tracks.pinned = {"Rank 0"};
  state.device = 1;
  state.finding = FindingFocus{0, 0};
  state.panels.compared = 2;
  search_for(state, "reduce");
  run_search(state, short_run());

  ViewState const next = carried(state);
  EXPECT_THAT(next.closed, testing::ElementsAre(*node_of_path(longer_run(), "Rank 1")));
  EXPECT_EQ(next.tracks, state.tracks);
  EXPECT_EQ(longer_run().analysis.devices[next.device].ref, short_run().analysis.devices[1].ref);
  if (next.finding) {
    EXPECT_EQ(longer_run().analysis.findings[next.finding->finding].rule,
              short_run().analysis.findings[0].rule);
  }
  ASSERT_TRUE(next.panels.compared);
  EXPECT_EQ(longer_run().analysis.steps[*next.panels.compared].step,
            short_run().analysis.steps[2].step);
  EXPECT_EQ(next.search.text, "reduce");
  EXPECT_TRUE(next.search.pending);
  EXPECT_TRUE(next.search.hits.empty());
}

TEST(CarriedChoice, RanksThatComeToManyAreClosedAsAtTheBeginning) {
  Scene const before = synthetic_scene({.devices = 9, .steps = 2, .process_per_device = true});
  Scene const after = synthetic_scene({.devices = 12, .steps = 2, .process_per_device = true});
  ViewState state = initial_view(before);
  state.closed.erase(*node_of_path(before, "Rank 4"));
  ViewState const next = carried_over(state, before, after);
  EXPECT_FALSE(next.closed.contains(*node_of_path(after, "Rank 4")));
  EXPECT_TRUE(next.closed.contains(*node_of_path(after, "Rank 5")));
  EXPECT_TRUE(next.closed.contains(*node_of_path(after, "Rank 11")));
}

TEST(CarriedChoice, ADeviceThatGetsANameStaysOpen) {
  Scene const before = synthetic_scene({.devices = 4, .steps = 2});
  Scene after = synthetic_scene({.devices = 4, .steps = 2});
  uint32_t const device = *after.node_of_device({0, 2});
  after.nodes[device].path += " · H100";
  ViewState state = initial_view(before);
  state.closed.erase(*before.node_of_device({0, 2}));

  ViewState const next = carried_over(state, before, after);
  EXPECT_FALSE(next.closed.contains(device));
  EXPECT_TRUE(next.closed.contains(*after.node_of_device({0, 1})));
}

class CarriedOutOfCore : public OutOfCoreTest {};

TEST_F(CarriedOutOfCore, FromMemoryToOutOfCoreAndBack) {
  write(support::make_synthetic_run(growing_run(8)));
  Scene const in_memory = open_in_memory();
  auto const out_of_core = open_out_of_core();
  analyze(*out_of_core);

  ViewState state = initial_view(in_memory);
  state.selection = Selection{Selection::What::kEvent, 1, 25};

  ViewState const away = carried_over(state, in_memory, *out_of_core);
  ASSERT_TRUE(away.selection);
  EXPECT_EQ(out_of_core->when(*away.selection), in_memory.when(*state.selection));

  ViewState const back = carried_over(away, *out_of_core, in_memory);
  EXPECT_EQ(back.selection, state.selection);
  EXPECT_EQ(back.window, state.window);
}

}  // namespace
}  // namespace stepscope::viewer
