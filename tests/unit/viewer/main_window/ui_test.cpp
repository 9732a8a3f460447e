// The whole window on ImGui's null backend: every panel for every kind of run, and a person's moves
// against the state.
#include "viewer/main_window/ui.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/viewer/null_ui.h"
#include "tests/unit/viewer/scenes.h"
#include "viewer/interaction/navigate.h"
#include "viewer/panels/panels.h"
#include "viewer/queries/search_query.h"
#include "viewer/scene/track_choice.h"
#include "viewer/timeline/draw.h"
#include "viewer/widgets/text.h"

namespace stepscope::viewer {
namespace {

constexpr int64_t kYear = int64_t{365} * 86'400 * 1'000'000'000;

/// Moves the mouse over all of the panel at the bottom, for its tooltips.
void point_at_the_panel(NullUi& ui, Scene const& scene, ViewState& state) {
  for (float y = 580; y < 800; y += 31)
    for (float x = 10; x < 900; x += 61) {
      ui.move(x, y);
      ui.frames(scene, state, 1);
    }
}

void draw_everything(Scene const& scene) {
  NullUi ui;
  ViewState state = initial_view(scene);
  state.panels.path = true;
  for (Theme const theme : {Theme::kDark, Theme::kLight})
    for (Panel const& panel : all_panels()) {
      state.theme = theme;
      state.panels.tab = Tab{panel.id};
      ui.frames(scene, state, 3);
      EXPECT_GT(ImGui::GetDrawData()->TotalVtxCount, 0);
    }

  state.panels.help = true;
  if (!scene.nodes.empty()) toggle_pin(state, scene, static_cast<uint32_t>(scene.nodes.size() - 1));
  state.panels.compared = 1;
  state.notes = {{0, "%s%n \xFF"}, {scene.length, ""}};
  state.range =
      TimeWindow{static_cast<double>(scene.length) * 0.2, static_cast<double>(scene.length) * 0.4};
  if (scene.events > 0) state.selection = Selection{Selection::What::kEvent, 0, 0};
  for (uint32_t i = 0; i < scene.analysis.findings.size(); ++i)
    focus_finding(state, scene, {i, 0}, 300);
  ui.frames(scene, state, 3);

  // Move the mouse over everything, for the tooltips.
  state.panels.help = false;
  if (!scene.analysis.kernels.empty())
    search_for(state, query_for(printable_name(scene.analysis.kernels[0].name)));
  for (Panel const& panel : all_panels()) {
    state.panels.tab = Tab{panel.id};
    point_at_the_panel(ui, scene, state);
  }

  for (float y = 10; y < 800; y += 37)
    for (float x = 10; x < 1280; x += 173) {
      ui.move(x, y);
      ui.frames(scene, state, 1);
    }
}

TEST(Ui, DrawsATrainingRun) { draw_everything(training()); }

TEST(Ui, DrawsARunWithoutAnyEvent) {
  draw_everything(scene_of([](model::TraceBuilder&) {}));
  draw_everything(analyzed(model::Run{}));
}

TEST(Ui, DrawsARunOfOneEvent) {
  draw_everything(scene_of([](model::TraceBuilder& builder) {
    builder.events(add_stream(builder))
        .add(model::EventKind::kKernel, 5, 1, builder.intern("k"), 0, model::KernelDetail{});
  }));
}

TEST(Ui, DrawsARunWhoseEventsAllHappenAtOnce) {
  draw_everything(scene_of([](model::TraceBuilder& builder) {
    auto const stream = add_stream(builder);
    auto const thread = add_thread(builder);
    for (int i = 0; i < 500; ++i) {
      builder.events(stream).add(model::EventKind::kKernel, 77, 0, builder.intern("k"), 0,
                                 model::KernelDetail{});
      builder.events(thread).add(model::EventKind::kRange, 77, 0, builder.intern("r"));
    }
  }));
}

TEST(Ui, DrawsOverlappingOpsOfOneStream) {
  Scene const scene = scene_of([](model::TraceBuilder& builder) {
    auto const stream = add_stream(builder);
    for (int64_t i = 0; i < 300; ++i)
      builder.events(stream).add(model::EventKind::kKernel, i * 10, 10'000, builder.intern("k"), 0,
                                 model::KernelDetail{});
  });
  draw_everything(scene);

  // Deeper lanes than a screen has are counted, not lost.
  Node const& stream = scene.nodes[*scene.node_of_track(0, 0)];
  EXPECT_EQ(stream.lanes.size(), kMaxLanes);
  EXPECT_EQ(stream.hidden, 300U - kMaxLanes);
}

TEST(Ui, DrawsTenThousandTracks) {
  draw_everything(scene_of([](model::TraceBuilder& builder) {
    for (int i = 0; i < 10'000; ++i)
      builder.events(add_thread(builder, "t"))
          .add(model::EventKind::kRange, i, 100, builder.intern("r"));
  }));
}

TEST(Ui, DrawsDurationsOfAYearBesideNanoseconds) {
  Scene const scene = scene_of([](model::TraceBuilder& builder) {
    auto const thread = add_thread(builder);
    builder.events(thread).add(model::EventKind::kRange, 0, kYear, builder.intern("year"));
    builder.events(thread).add(model::EventKind::kRange, kYear / 2, 1,
                               builder.intern("nanosecond"));
    builder.events(thread).add(model::EventKind::kMark, kYear, 0, builder.intern("end"));
  });
  draw_everything(scene);

  NullUi ui;
  ViewState state = initial_view(scene);
  state.search.text = "nanosecond";
  run_search(state, scene);
  step_search(state, scene, 1, 300);
  ui.frames(scene, state, 3);

  EXPECT_LE(state.window.begin, static_cast<double>(kYear / 2));
  EXPECT_GE(state.window.end, static_cast<double>(kYear / 2));
}

TEST(Ui, SurvivesTimesAtTheEndsOfTheirRange) {
  draw_everything(scene_of([](model::TraceBuilder& builder) {
    auto const thread = add_thread(builder);
    builder.events(thread).add(model::EventKind::kRange, INT64_MIN, 10, builder.intern("first"));
    builder.events(thread).add(model::EventKind::kRange, INT64_MAX - 5, 5, builder.intern("last"));
  }));
}

TEST(Ui, DrawsHostileNames) {
  draw_everything(scene_of([](model::TraceBuilder& builder) {
    auto const stream = add_stream(builder, "%s%n%s \xFF\xFE\x1B[31m");
    auto const thread = add_thread(builder, std::string(10'000, '%'));

    int64_t at = 0;
    for (std::string const& name :
         {std::string("%s%s%n%d"), std::string("\xC3\x28\xF0\x9F"), std::string(10'000, 'x'),
          std::string("a\0b", 3), std::string("##id###id"), std::string()}) {
      builder.events(stream).add(model::EventKind::kKernel, at, 1000, builder.intern(name), 0,
                                 model::KernelDetail{});
      builder.events(thread).add(model::EventKind::kRange, at, 1000, builder.intern(name));
      at += 1000;
    }
  }));
}

TEST(Ui, FitsAnyWindowSize) {
  for (auto const& [width, height] : {std::pair{320.0F, 200.0F}, std::pair{60.0F, 40.0F},
                                      std::pair{1.0F, 1.0F}, std::pair{5000.0F, 3000.0F}}) {
    NullUi ui(width, height);
    ViewState state = initial_view(training());
    ui.frames(training(), state, 3);
  }
}

TEST(Ui, DrawsAtTwiceTheScale) {
  NullUi ui(2560, 1600, 2);
  ViewState state = initial_view(training());
  ui.frames(training(), state, 3);
  EXPECT_FLOAT_EQ(ui_scale(), 2);
}

TEST(Ui, WithoutInputTheStateDoesNotChange) {
  NullUi ui;
  ViewState state = initial_view(training());
  ui.frames(training(), state, 3);
  ViewState const before = state;
  ui.frames(training(), state, 5);
  EXPECT_EQ(state, before);
}

TEST(Ui, PaintsTheClassColoursOfTheRun) {
  NullUi ui;
  ViewState state = initial_view(training());
  ui.frames(training(), state, 3);
  Picture const picture = ui.picture(surface(Theme::kDark).background);

  auto const count = [&](uint32_t colour) {
    size_t n = 0;
    for (size_t i = 0; i + 2 < picture.pixels.size(); i += 3)
      n += (picture.pixels[i] | picture.pixels[i + 1] << 8 | picture.pixels[i + 2] << 16) ==
                   static_cast<int>(colour & 0xFFFFFFU)
               ? 1U
               : 0U;
    return n;
  };

  EXPECT_GT(count(paint_colour(Paint::kCompute, Theme::kDark)), 2000U);
  EXPECT_GT(count(paint_colour(Paint::kCommunication, Theme::kDark)), 500U);
  EXPECT_GT(count(paint_colour(Paint::kInput, Theme::kDark)), 500U);
  EXPECT_GT(count(surface(Theme::kDark).text), 500U);
}

// Moves of a person.

TEST(UiMouse, ClickOnAFindingGoesToItsEvidence) {
  NullUi ui;
  ViewState state = initial_view(training());
  ui.frames(training(), state, 3);
  ASSERT_FALSE(training().analysis.findings.empty());

  // The first card lies below the verdict and the panel's heading, in the right column.
  ui.click(training(), state, 1280 - 200, 160);
  ASSERT_TRUE(state.finding);
  EXPECT_EQ(state.finding->finding, 0U);
  if (!training().analysis.findings[0].evidence.empty()) {
    EXPECT_FALSE(state.history.empty());
  }
}

TEST(UiMouse, ClickOnAStepShowsThatStep) {
  NullUi ui;
  ViewState state = initial_view(training());
  ui.frames(training(), state, 3);
  // The third bar of the strip that begins right of the gutter.
  float const bar = std::min((1280 - 380 - 5 - gutter() - 8) / 12, 96.0F);
  ui.click(training(), state, gutter() + 2.5F * bar, 100);
  auto const& step = training().analysis.steps[2];
  EXPECT_LE(state.window.begin, static_cast<double>(training().to_view(step.window.begin)));
  EXPECT_GE(state.window.end, static_cast<double>(training().to_view(step.window.end)));
  EXPECT_LT(state.window.span(), static_cast<double>(step.window.length()) * 1.5);
}

TEST(UiMouse, DragOnTheTimelinePansAndOnTheRulerMarksARange) {
  NullUi ui;
  ViewState state = initial_view(training());
  go_to(state, training(), {100e6, 200e6});
  ui.frames(training(), state, 3);

  auto const drag = [&](float x, float y, float to_x) {
    ui.move(x, y);
    ui.frames(training(), state, 2);
    ui.button(true);
    ui.frames(training(), state, 1);
    ui.move((x + to_x) / 2, y);
    ui.frames(training(), state, 1);
    ui.move(to_x, y);
    ui.frames(training(), state, 2);
    ui.button(false);
    ui.frames(training(), state, 2);
  };

  drag(700, 350, 500);
  EXPECT_GT(state.window.begin, 100e6);
  EXPECT_FALSE(state.range);

  TimeWindow const before = state.window;
  drag(400, 165, 600);
  ASSERT_TRUE(state.range);
  EXPECT_EQ(state.window, before);
  EXPECT_GT(state.range->span(), 0);
}

TEST(UiMouse, DragOnTheOverviewMovesTheWindow) {
  NullUi ui;
  ViewState state = initial_view(training());
  go_to(state, training(), {0, 20e6});
  ui.frames(training(), state, 3);
  ui.click(training(), state, gutter() + 400, 135);
  EXPECT_GT(state.window.begin, 20e6);
  EXPECT_NEAR(state.window.span(), 20e6, 1);
}

TEST(ShowPanel, KnowsEveryPanelByItsName) {
  ViewState state;
  for (char const* name : {"findings", "details", "statistics", "kernels", "communication", "path",
                           "flames", "memory", "run", "notes"})
    EXPECT_TRUE(show_panel(state, name)) << name;
  EXPECT_EQ(state.panels.tab, Tab::kNotes);

  for (char const* name : {"launches", "phases", "devices", "scaling"}) {
    EXPECT_TRUE(show_panel(state, name)) << name;
    EXPECT_NE(panel_names().find(name), std::string::npos);
  }
  EXPECT_EQ(state.panels.tab, Tab::kScaling);

  EXPECT_FALSE(show_panel(state, "nothing"));
}

TEST(ShowPanel, OfThePathDrawsIt) {
  ViewState state;
  show_panel(state, "path");
  EXPECT_TRUE(state.panels.path);
}

// Moves of a person in the panels at the bottom.

/// Clicks over an area, row by row, until something has happened; false when nothing ever does.
template <class Happened>
bool click_until(NullUi& ui, Scene const& scene, ViewState& state, ImVec2 low, ImVec2 high,
                 Happened happened) {
  for (float y = low.y; y < high.y; y += 12)
    for (float x = low.x; x < high.x; x += 24) {
      ui.click(scene, state, x, y);
      if (happened()) return true;
    }
  return false;
}

TEST(UiPanels, PDrawsTheCriticalPath) {
  NullUi ui;
  ViewState state = initial_view(training());
  ui.frames(training(), state, 3);

  auto const red = [&] {
    Picture const picture = ui.picture(surface(Theme::kDark).background);
    uint32_t const wanted = surface(Theme::kDark).critical;
    size_t n = 0;
    for (size_t i = 0; i + 2 < picture.pixels.size(); i += 3)
      n += picture.pixels[i] == (wanted & 0xFFU) &&
                   picture.pixels[i + 1] == (wanted >> 8U & 0xFFU) &&
                   picture.pixels[i + 2] == (wanted >> 16U & 0xFFU)
               ? 1U
               : 0U;
    return n;
  };

  size_t const before = red();
  ui.type(training(), state, "p");
  ui.frames(training(), state, 3);
  EXPECT_TRUE(state.panels.path);
  EXPECT_GT(red(), before + 500);

  ui.type(training(), state, "p");
  EXPECT_FALSE(state.panels.path);
}

TEST(UiPanels, ClickOnAKernelSearchesForItAndShowsItsDurations) {
  NullUi ui;
  ViewState state = initial_view(training());
  state.panels.tab = Tab::kKernels;
  ui.frames(training(), state, 3);

  ASSERT_TRUE(click_until(ui, training(), state, {60, 664}, {100, 760},
                          [&] { return !state.search.text.empty(); }));
  EXPECT_TRUE(parse_query(state.search.text).whole);
  EXPECT_FALSE(state.search.pending);
  EXPECT_GT(state.search.total, 0U);

  // Then on a bar of the histogram at the right: its calls alone.
  std::string const name = parse_query(state.search.text).name;
  ASSERT_TRUE(click_until(ui, training(), state, {660, 720}, {890, 740},
                          [&] { return parse_query(state.search.text).least_ns > 0; }));
  Query const query = parse_query(state.search.text);
  EXPECT_EQ(query.name, name);

  ui.frames(training(), state, 2);
  for (Selection const& hit : state.search.hits)
    EXPECT_TRUE(query.matches_duration(training().trace(hit.rank).columns().dur[hit.index]));
}

TEST(UiPanels, ClickOnTheMatrixShowsTheCollective) {
  NullUi ui;
  ViewState state = initial_view(training());
  state.panels.tab = Tab::kCommunication;
  ui.frames(training(), state, 3);

  ASSERT_TRUE(click_until(ui, training(), state, {80, 620}, {250, 760},
                          [&] { return state.selection.has_value(); }));

  auto const* const facts = training().collective_of(*state.selection);
  ASSERT_NE(facts, nullptr);
  for (auto const& participant : facts->participants) {
    EXPECT_GE(static_cast<double>(training().to_view(participant.when.begin)), state.window.begin);
    EXPECT_LE(static_cast<double>(training().to_view(participant.when.end)), state.window.end);
  }
}

TEST(UiPanels, BracketGoesToTheCollectiveOnTheOtherDevice) {
  NullUi ui;
  ViewState state = initial_view(training());
  auto const& facts = training().analysis.collectives[5];
  ASSERT_EQ(facts.participants.size(), 2U);

  state.selection = Selection{Selection::What::kEvent,
                              static_cast<uint32_t>(facts.participants[0].ref.rank_index),
                              facts.participants[0].row};
  ui.frames(training(), state, 3);

  ui.type(training(), state, "[");
  EXPECT_EQ(state.selection->rank, static_cast<uint32_t>(facts.participants[1].ref.rank_index));
  EXPECT_EQ(state.selection->index, facts.participants[1].row);

  ui.type(training(), state, "[");
  EXPECT_EQ(state.selection->index, facts.participants[0].row);
}

TEST(UiPanels, ClickOnAFlameSearchesForItsName) {
  NullUi ui;
  ViewState state = initial_view(training());
  state.panels.tab = Tab{"flames"};
  ui.frames(training(), state, 3);
  ASSERT_TRUE(click_until(ui, training(), state, {40, 645}, {300, 760},
                          [&] { return !state.search.text.empty(); }));
  EXPECT_TRUE(parse_query(state.search.text).whole);
  EXPECT_GT(state.search.total, 0U);
}

TEST(UiPanels, ClickOnTheMemoryCurveAsksWhoHoldsItThere) {
  NullUi ui;
  ViewState state = initial_view(training());
  state.panels.tab = Tab{"memory"};
  ui.frames(training(), state, 3);
  ASSERT_TRUE(click_until(ui, training(), state, {150, 690}, {200, 740},
                          [&] { return state.panels.memory_at.has_value(); }));
  EXPECT_GT(*state.panels.memory_at, 0);
  EXPECT_LT(*state.panels.memory_at, training().length);
  ui.frames(training(), state, 3);
}

}  // namespace
}  // namespace stepscope::viewer
