// The table of actions, the menus and keys that the viewer makes of it, and the boxes that actions
// open.
#include "viewer/main_window/actions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "tests/unit/viewer/null_ui.h"
#include "tests/unit/viewer/scenes.h"
#include "viewer/interaction/navigate.h"
#include "viewer/interaction/track_finder.h"
#include "viewer/main_window/parts.h"
#include "viewer/main_window/ui.h"
#include "viewer/panels/compared/run_pair.h"
#include "viewer/panels/panels.h"
#include "viewer/scene/track_choice.h"
#include "viewer/session/saved_view.h"
#include "viewer/timeline/draw.h"

namespace stepscope::viewer {
namespace {

Scene const& run_of_three() {
  static Scene const kScene = synthetic_scene(
      {.devices = 3, .steps = 8, .process_per_device = true, .input_delay_ns = 8'000'000});
  return kScene;
}

/// A state in which every action is enabled.
ViewState busy_state() {
  ViewState state = initial_view(run_of_three());
  go_to(state, run_of_three(), {20e6, 60e6});

  state.search.text = "reduce";
  run_search(state, run_of_three());
  step_search(state, run_of_three(), 1, 300);

  state.tracks.hidden = {"Rank 2"};
  state.tracks.pinned = {"Rank 1"};
  state.tracks.order[""] = {"Rank 1", "Rank 0", "Rank 2"};
  state.closed = {0};

  auto const& findings = run_of_three().analysis.findings;
  for (uint32_t i = 0; i < findings.size(); ++i)
    if (findings[i].evidence.size() > 1) state.finding = FindingFocus{i, 0};
  return state;
}

TEST(Actions, HaveNamesAndEveryMenuHasSome) {
  std::set<Menu> menus;
  for (Action const& action : all_actions()) {
    EXPECT_STRNE(action.name, "");
    EXPECT_TRUE(action.command != nullptr || find_panel(action.opens.id) != nullptr) << action.name;
    menus.insert(action.menu);
  }
  EXPECT_EQ(menus.size(), static_cast<size_t>(kMenus));
  // The menus are read in the order of the table.
  EXPECT_TRUE(std::is_sorted(all_actions().begin(), all_actions().end(),
                             [](Action const& a, Action const& b) { return a.menu < b.menu; }));
}

TEST(Actions, OfOneKeyAreToldApartByWhatIsEnabled) {
  for (size_t i = 0; i < all_actions().size(); ++i)
    for (size_t k = i + 1; k < all_actions().size(); ++k) {
      if (!all_actions()[i].shortcut.exists() ||
          !(all_actions()[i].shortcut == all_actions()[k].shortcut))
        continue;
      // The first must be disabled at times, or the second would never be done.
      EXPECT_NE(all_actions()[i].is_enabled, nullptr) << all_actions()[k].name;
    }
}

TEST(Actions, SayTheirKeysInWords) {
  EXPECT_EQ(words_of(Shortcut{.typed = 'n', .key = {}}), "N");
  EXPECT_EQ(words_of(Shortcut{.typed = 'N', .key = {}}), "Shift+N");
  EXPECT_EQ(words_of(Shortcut{.typed = '/', .key = {}}), "/");
  EXPECT_EQ(words_of(Shortcut{.typed = 0, .key = Key::kHome}), "Home");
  EXPECT_EQ(words_of(Shortcut{.typed = 0, .key = Key::kP, .ctrl = true}), "Ctrl+P");
  EXPECT_EQ(words_of(Shortcut{}), "");
}

TEST(Actions, CanBeDoneInAnyState) {
  Scene const nothing = analyzed(model::Run{});
  for (Scene const* const scene : {&run_of_three(), &nothing}) {
    NullUi ui;
    for (Action const& action : all_actions()) {
      WindowStatus const status;
      WindowRequests requests;
      ViewState state = scene == &nothing ? initial_view(nothing) : busy_state();
      ActionScope const scope{*scene, state, 300, {&status, &requests}};

      if (is_enabled(action, scope)) run(action, scope);
      static_cast<void>(is_on(action, scope));

      ui.frames(*scene, state, 3);
      EXPECT_LT(state.window.begin, state.window.end) << action.name;
    }
  }
}

TEST(Actions, AreAllEnabledWhereThereIsSomethingForThem) {
  WindowStatus status;
  status.notice = "the run has grown";
  WindowRequests requests;
  ViewState state = busy_state();
  RunPair pair(std::make_unique<Scene>(synthetic_scene({.devices = 1, .steps = 3})), "", "");
  for (Action const& action : all_actions())
    EXPECT_TRUE(is_enabled(action, {run_of_three(), state, 300, {&status, &requests}, &pair}))
        << action.name;
}

/// What needs no mouse: the box lists every command that can be done now.
TEST(FindActions, FindsAllThatCanBeDoneByTheirWords) {
  ViewState state = busy_state();
  ActionScope const scope{run_of_three(), state, 300, {}};
  size_t enabled = 0;
  for (Action const& action : all_actions()) enabled += is_enabled(action, scope) ? 1 : 0;
  EXPECT_EQ(find_actions(" ", scope).size(), enabled);

  auto const light = find_actions("view light", scope);
  ASSERT_EQ(light.size(), 1U);
  EXPECT_STREQ(light[0]->name, "Light colours");
  EXPECT_TRUE(find_actions("Open…", scope).empty()) << "no session to open a run in";
}

TEST(TrackFinderBox, DoesACommandByKeys) {
  NullUi ui;
  ViewState state = initial_view(run_of_three());
  state.theme = Theme::kDark;
  state.panels.finder = {.open = true, .text = "> light colours"};
  ui.frames(run_of_three(), state, 2);
  ui.press(run_of_three(), state, Key::kEnter);
  EXPECT_EQ(state.theme, Theme::kLight);
  EXPECT_FALSE(state.panels.finder.open);
}

TEST(PlacesOfAFinding, GoRoundByKeys) {
  NullUi ui;
  ViewState state = busy_state();
  ASSERT_TRUE(state.finding);
  ui.type(run_of_three(), state, "K");
  EXPECT_EQ(state.finding->evidence + 1,
            run_of_three().analysis.findings[state.finding->finding].evidence.size());

  ui.type(run_of_three(), state, "J");
  EXPECT_EQ(state.finding->evidence, 0U);
}

TEST(TrackActions, AreAboutTheTrackThatWasGoneTo) {
  ViewState state = initial_view(run_of_three());
  uint32_t const rank = *node_of_path(run_of_three(), "Rank 1");
  go_to_track(state, run_of_three(), rank, 300);
  auto const act = [&](std::string_view name) {
    ActionScope const scope{run_of_three(), state, 300, {}};
    for (Action const& action : all_actions())
      if (action.name == name && is_enabled(action, scope)) run(action, scope);
  };

  bool const was_closed = state.closed.contains(rank);
  act("Open or close the chosen group");
  EXPECT_NE(state.closed.contains(rank), was_closed);
  act("Pin the chosen one");
  EXPECT_EQ(state.tracks.pinned, std::vector<std::string>{"Rank 1"});
  act("Move the chosen one up");
  EXPECT_EQ(state.tracks.order.at("").front(), "Rank 1");
  act("Hide all others of its kind");
  EXPECT_EQ(state.tracks.hidden, (std::set<std::string>{"Rank 0", "Rank 2"}));
}

TEST(Actions, OfWhatIsNotThereAreDisabled) {
  ViewState state = initial_view(run_of_three());
  std::set<std::string> disabled;
  for (Action const& action : all_actions())
    if (!is_enabled(action, {run_of_three(), state, 300, {}})) disabled.insert(action.name);
  for (char const* name :
       {"Open…", "Close the run", "Back to the view before", "Next hit of the search", "Unpin all",
        "Show all", "Next of the same name"})
    EXPECT_TRUE(disabled.contains(name)) << name;
  EXPECT_FALSE(disabled.contains("Whole run"));
}

TEST(Actions, AreDoneByTheirKeys) {
  for (Action const& action : all_actions()) {
    if (!action.shortcut.exists() || action.menu == Menu::kFile) continue;

    NullUi ui;
    ViewState by_key = busy_state();
    ui.frames(run_of_three(), by_key, 3);
    ViewState by_menu = by_key;
    ActionScope const scope{run_of_three(), by_menu, 300, {}};

    // The first enabled action with this key.
    auto const first =
        std::find_if(all_actions().begin(), all_actions().end(), [&](Action const& other) {
          return other.shortcut == action.shortcut && is_enabled(other, scope);
        });
    // No action: the key belongs to actions on two runs.
    if (first == all_actions().end()) continue;

    run(*first, scope);
    if (action.shortcut.typed != 0) {
      ui.type(run_of_three(), by_key, std::string(1, action.shortcut.typed));
    } else if (action.shortcut.ctrl) {
      ui.press_with_ctrl(run_of_three(), by_key, *action.shortcut.key);
    } else {
      ui.press(run_of_three(), by_key, *action.shortcut.key);
    }

    by_menu.scroll = by_key.scroll;
    EXPECT_TRUE(same_view(by_key, by_menu)) << action.name;
    EXPECT_EQ(by_key.selection, by_menu.selection) << action.name;
    EXPECT_EQ(by_key.finding, by_menu.finding) << action.name;
    EXPECT_EQ(by_key.range, by_menu.range) << action.name;
    EXPECT_EQ(by_key.search.open, by_menu.search.open) << action.name;
    EXPECT_EQ(by_key.panels.help, by_menu.panels.help) << action.name;
    EXPECT_EQ(by_key.panels.finder.open, by_menu.panels.finder.open) << action.name;
  }
}

TEST(UiMenus, OpenUnderTheirNamesAndDoWhatIsChosen) {
  NullUi ui;
  ViewState state = initial_view(run_of_three());
  go_to(state, run_of_three(), {20e6, 60e6});
  ui.frames(run_of_three(), state, 3);
  // "View" is the second name; its first line shows the whole run.
  ui.click(run_of_three(), state, 72, 20);
  ASSERT_TRUE(ImGui::GetDrawData()->TotalVtxCount > 0);
  ui.click(run_of_three(), state, 90, 46);
  EXPECT_EQ(state.window, (TimeWindow{0, static_cast<double>(run_of_three().length)}));
}

TEST(UiMenus, EscapeClosesThemAndNothingElse) {
  NullUi ui;
  ViewState state = initial_view(run_of_three());
  state.range = TimeWindow{1e6, 2e6};
  ui.frames(run_of_three(), state, 3);
  ui.click(run_of_three(), state, 72, 20);
  ui.press(run_of_three(), state, Key::kEscape);
  EXPECT_TRUE(state.range);
  ui.press(run_of_three(), state, Key::kEscape);
  EXPECT_FALSE(state.range);
}

TEST(UiTracks, CtrlPFindsATrackAndEnterGoesThere) {
  NullUi ui;
  ViewState state = initial_view(run_of_three());
  close_all_ranks(state, run_of_three());
  ui.frames(run_of_three(), state, 3);

  ui.press_with_ctrl(run_of_three(), state, Key::kP);
  ASSERT_TRUE(state.panels.finder.open);
  ui.frames(run_of_three(), state, 3);

  ui.type(run_of_three(), state, "rank 2 device");
  EXPECT_EQ(state.panels.finder.text, "rank 2 device");
  ui.press(run_of_three(), state, Key::kDown);
  EXPECT_EQ(state.panels.finder.chosen, 1U);
  ui.press(run_of_three(), state, Key::kUp);
  ui.press(run_of_three(), state, Key::kEnter);

  EXPECT_FALSE(state.panels.finder.open);
  ASSERT_TRUE(state.panels.flash);
  Node const& found = run_of_three().nodes[state.panels.flash->node];
  EXPECT_EQ(found.kind, NodeKind::kDevice);
  EXPECT_EQ(found.rank, 2U);
  EXPECT_FALSE(state.closed.contains(*node_of_path(run_of_three(), "Rank 2")));

  ui.frames(run_of_three(), state, 120);
  EXPECT_FALSE(state.panels.flash);
}

TEST(UiTracks, EscapeClosesTheFinderAlone) {
  NullUi ui;
  ViewState state = initial_view(run_of_three());
  state.range = TimeWindow{1e6, 2e6};
  ui.frames(run_of_three(), state, 3);

  ui.press_with_ctrl(run_of_three(), state, Key::kP);
  ui.frames(run_of_three(), state, 3);
  ui.type(run_of_three(), state, "q");
  ui.press(run_of_three(), state, Key::kEscape);
  ui.frames(run_of_three(), state, 2);

  EXPECT_FALSE(state.panels.finder.open);
  EXPECT_TRUE(state.range);
}

TEST(UiTracks, TheMenuOfANamePinsAndHides) {
  NullUi ui;
  ViewState state = initial_view(run_of_three());
  ui.frames(run_of_three(), state, 3);

  // The first row, below the ruler.
  ui.right_click(run_of_three(), state, 60, 190);
  ASSERT_TRUE(state.panels.track_menu);
  EXPECT_EQ(*state.panels.track_menu, 0U);

  for (float y = 200; y < 330 && state.tracks.pinned.empty(); y += 6) {
    if (!state.panels.track_menu) ui.right_click(run_of_three(), state, 60, 190);
    if (state.panels.track_menu) ui.click(run_of_three(), state, 90, y);
  }
  EXPECT_THAT(state.tracks.pinned, testing::ElementsAre("Rank 0"));

  ui.frames(run_of_three(), state, 3);
  EXPECT_FALSE(state.panels.track_menu);
}

TEST(UiTracks, TFiltersThemAndEscapeShowsAllAgain) {
  NullUi ui;
  ViewState state = initial_view(run_of_three());
  ui.frames(run_of_three(), state, 3);

  ui.type(run_of_three(), state, "t");
  ui.frames(run_of_three(), state, 3);
  ui.type(run_of_three(), state, "rank 1");
  EXPECT_EQ(state.tracks.filter, "rank 1");
  for (ShownTrack const& track : shown_tracks(run_of_three(), state))
    EXPECT_EQ(run_of_three().nodes[track.node].rank, 1U);

  ui.press(run_of_three(), state, Key::kEscape);
  ui.frames(run_of_three(), state, 2);
  EXPECT_EQ(state.tracks.filter, "");
}

TEST(UiTracks, HiddenOnesAreShownAgainByAClick) {
  NullUi ui;
  ViewState state = initial_view(run_of_three());
  hide(state, run_of_three(), 0);
  ui.frames(run_of_three(), state, 3);
  for (float y = 520; y < 580 && !state.tracks.hidden.empty(); y += 4)
    for (float x = 100; x < 230 && !state.tracks.hidden.empty(); x += 12)
      ui.click(run_of_three(), state, x, y);
  EXPECT_TRUE(state.tracks.hidden.empty());
}

TEST(UiNotes, NAddsOneAtTheMouseAndItsTextIsTyped) {
  NullUi ui;
  ViewState state = initial_view(run_of_three());
  ui.frames(run_of_three(), state, 3);

  ui.move(gutter() + 300, 300);
  ui.frames(run_of_three(), state, 2);
  ASSERT_TRUE(state.panels.pointed);
  auto const time = static_cast<int64_t>(*state.panels.pointed);

  ui.type(run_of_three(), state, "n");
  ui.frames(run_of_three(), state, 3);
  ASSERT_EQ(state.notes.size(), 1U);
  EXPECT_EQ(state.notes[0].time_ns, time);

  ui.type(run_of_three(), state, "slow? n");
  EXPECT_EQ(state.notes[0].text, "slow? n");
  ui.press(run_of_three(), state, Key::kEnter);
  ui.frames(run_of_three(), state, 2);
  EXPECT_FALSE(state.panels.new_note);
  EXPECT_EQ(state.notes.size(), 1U);

  // A click on the right place of its line in the panel removes it.
  ui.move(gutter() + 302, 155);
  ui.frames(run_of_three(), state, 3);
  for (float x = 840; x < 895 && !state.notes.empty(); x += 10)
    for (float y = 640; y < 700 && !state.notes.empty(); y += 8)
      ui.click(run_of_three(), state, x, y);
  EXPECT_TRUE(state.notes.empty());
}

TEST(UiKeys, CtrlEqualAndMinusChangeTheText) {
  NullUi ui;
  ViewState state = initial_view(run_of_three());
  ui.frames(run_of_three(), state, 3);
  ui.press_with_ctrl(run_of_three(), state, Key::kEqual);
  EXPECT_NEAR(state.panels.text_size, 1.26F, 1e-5F);
  ui.press_with_ctrl(run_of_three(), state, Key::kMinus);
  EXPECT_EQ(state.panels.text_size, 1);

  for (int i = 0; i < 9; ++i) ui.press_with_ctrl(run_of_three(), state, Key::kEqual);
  EXPECT_EQ(state.panels.text_size, kLargestText);
  for (int i = 0; i < 9; ++i) ui.press_with_ctrl(run_of_three(), state, Key::kMinus);
  EXPECT_EQ(state.panels.text_size, kSmallestText);
}

/// Each of the keys that are shown first is still an action's.
TEST(UiKeys, TheFirstOnesExist) {
  auto const keys = first_keys();
  EXPECT_EQ(keys.size(), 10U);
  for (auto const& [key, words] : keys) EXPECT_FALSE(key.empty()) << words;
}

TEST(UiSteps, ShiftClickComparesAStepUntilEscape) {
  NullUi ui;
  ViewState state = initial_view(run_of_three());
  state.panels.tab = Tab{"memory"};
  ui.frames(run_of_three(), state, 3);

  TimeWindow const before = state.window;
  float const bar = std::min((1280 - 380 - 5 - gutter() - 8) / 8, 96.0F);
  ui.hold_modifier(false, true);
  ui.click(run_of_three(), state, gutter() + 3.5F * bar, 100);
  ui.hold_modifier(false, false);

  ASSERT_TRUE(state.panels.compared);
  EXPECT_EQ(run_of_three().analysis.steps[*state.panels.compared].step,
            run_of_three().analysis.steps[3].step);
  EXPECT_EQ(state.panels.tab, Tab::kStatistics);
  EXPECT_EQ(state.window, before);

  ui.frames(run_of_three(), state, 3);
  ui.press(run_of_three(), state, Key::kEscape);
  EXPECT_FALSE(state.panels.compared);
}

TEST(UiNotice, IsReadAndGone) {
  NullUi ui;
  ViewState state = initial_view(run_of_three());
  WindowStatus status;
  status.notice = "kept in %s \xFF";
  WindowRequests requests;
  PanelCache cache;

  for (float y = 60; y < 120 && !requests.notice_seen; y += 3)
    for (bool const down : {false, false, true, false}) {
      ui.move(350, y);
      ui.button(down);
      ImGui::NewFrame();
      draw_ui(run_of_three(), state, cache, {&status, &requests});
      ImGui::Render();
    }

  EXPECT_TRUE(requests.notice_seen);
}

}  // namespace
}  // namespace stepscope::viewer
