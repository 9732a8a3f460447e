// THE list of panels: a panel that has a row there is reachable everywhere.
#include "viewer/panels/panels.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/viewer/null_ui.h"
#include "tests/unit/viewer/scenes.h"
#include "viewer/interaction/navigate.h"
#include "viewer/main_window/actions.h"
#include "viewer/panels/common/panel_cache.h"
#include "viewer/session/arguments.h"
#include "viewer/session/saved_view.h"

namespace stepscope::viewer {
namespace {

Scene const& run_of_two() {
  static Scene const kScene = synthetic_scene({.devices = 2, .steps = 4});
  return kScene;
}

/// A panel that only tests have, as its row would stand in the list.
void made_panel(PanelScope const&) {}
constexpr std::array kWithMadePanel = {
    Panel{"statistics", "Statistics", '1', PanelNeeds::kNothing, made_panel},
    Panel{"made", "Made panel", 'y', PanelNeeds::kNothing, made_panel},
    Panel{"pair", "Made of two", 0, PanelNeeds::kPair, made_panel}};

Action const* action_that_opens(std::span<Action const> actions, char const* id) {
  auto const found = std::find_if(actions.begin(), actions.end(),
                                  [&](Action const& action) { return action.opens == Tab{id}; });
  return found == actions.end() ? nullptr : &*found;
}

TEST(PanelList, HasEachIdTitleAndKeyOnce) {
  std::set<std::string> ids, titles;
  std::multiset<char> keys;
  for (Panel const& panel : all_panels()) {
    ids.insert(panel.id);
    titles.insert(panel.title);
    if (panel.key != 0) keys.insert(panel.key);
    EXPECT_NE(panel.draw, nullptr) << panel.id;
  }

  EXPECT_EQ(ids.size(), all_panels().size());
  EXPECT_EQ(titles.size(), all_panels().size());
  for (char const key : keys) EXPECT_EQ(keys.count(key), 1U) << key;
}

TEST(PanelList, KeepsTheNamesThatSavedViewsAndCommandLinesHave) {
  std::vector<std::string> ids;
  for (Panel const& panel : all_panels()) ids.emplace_back(panel.id);
  EXPECT_THAT(ids, testing::IsSupersetOf({"comparison", "statistics", "kernels", "communication",
                                          "path", "flames", "memory", "run", "notes", "launches",
                                          "phases", "devices", "scaling", "what-if"}));
}

TEST(PanelList, HasARowForEachPanelThatCodeOpens) {
  for (Tab const tab : {Tab::kStatistics, Tab::kKernels, Tab::kCommunication, Tab::kPath,
                        Tab::kNotes, Tab::kLaunches, Tab::kScaling, Tab::kComparison, Tab::kWhatIf})
    EXPECT_NE(find_panel(tab.id), nullptr) << tab.id;
}

TEST(PanelList, PutsARowIntoTheMenuUnderItsTitleAndKey) {
  std::vector<Action> const actions = actions_with(kWithMadePanel);
  Action const* const made = action_that_opens(actions, "made");
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->menu, Menu::kView);
  EXPECT_STREQ(made->name, "Made panel");
  EXPECT_EQ(words_of(made->shortcut), "Y");

  ViewState state;
  ActionScope const scope{run_of_two(), state, 300, {}};
  EXPECT_TRUE(is_enabled(*made, scope));
  run(*made, scope);
  EXPECT_EQ(state.panels.tab, Tab{"made"});
  EXPECT_TRUE(is_on(*made, scope));

  // A panel of two runs cannot be opened with one.
  Action const* const of_two = action_that_opens(actions, "pair");
  ASSERT_NE(of_two, nullptr);
  EXPECT_FALSE(is_enabled(*of_two, scope));
  EXPECT_FALSE(of_two->shortcut.exists());
}

TEST(PanelList, ShowsEveryRowFromTheMenu) {
  for (Panel const& panel : all_panels()) {
    Action const* const action = action_that_opens(all_actions(), panel.id);
    ASSERT_NE(action, nullptr) << panel.id;
    EXPECT_STREQ(action->name, panel.title);
  }
}

TEST(PanelList, ShowsEveryRowByItsKey) {
  for (Panel const& panel : all_panels()) {
    if (panel.key == 0 || panel.needs == PanelNeeds::kPair) continue;
    NullUi ui;
    ViewState state = initial_view(run_of_two());
    state.panels.tab = Tab{"scaling"};
    ui.frames(run_of_two(), state, 2);
    ui.type(run_of_two(), state, std::string(1, panel.key));
    EXPECT_EQ(state.panels.tab, Tab{panel.id}) << panel.id;
  }
}

TEST(PanelList, ShowsEveryRowAsATab) {
  // Wide enough for all tabs in one line.
  NullUi ui(2600, 800);
  ViewState state = initial_view(run_of_two());
  ui.frames(run_of_two(), state, 3);

  std::set<std::string> opened;
  for (float x = 10; x < 1600; x += 20) {
    ui.click(run_of_two(), state, x, 590);
    opened.insert(std::string(state.panels.tab.id));
  }
  for (Panel const& panel : all_panels()) {
    bool const is_offered = panel.needs != PanelNeeds::kPair && panel.needs != PanelNeeds::kSeries;
    EXPECT_EQ(opened.contains(panel.id), is_offered) << panel.id;
  }
}

TEST(PanelList, ShowsEveryRowByTheCommandLine) {
  for (Panel const& panel : all_panels()) {
    Arguments arguments;
    arguments.panel = panel.id;
    if (panel.needs == PanelNeeds::kPair) {
      arguments.runs = {"base"};
      arguments.candidate = {"new"};
    }

    ViewState state = initial_view(run_of_two());
    ASSERT_TRUE(apply_arguments(arguments, run_of_two(), state)) << panel.id;
    EXPECT_EQ(state.panels.tab, Tab{panel.id});
    EXPECT_NE(panel_names().find(panel.id), std::string::npos) << panel_names();
  }
}

TEST(PanelList, KeepsEveryRowInSavedViews) {
  for (Panel const& panel : all_panels()) {
    ViewState state = initial_view(run_of_two());
    state.panels.tab = Tab{panel.id};
    auto const read = parse_saved_view(saved_view_text(saved_view(run_of_two(), state)), "view");
    ASSERT_TRUE(read) << panel.id;
    EXPECT_EQ(read->tab, Tab{panel.id});
  }
}

struct CountingPart {
  int frames_left = 0;
  bool is_busy() { return frames_left > 0 && frames_left-- > 0; }
  void finish() { frames_left = 0; }
};
struct OtherPart {
  int value = 0;
  static bool is_busy() { return false; }
  void finish() { value = 7; }
};

TEST(PanelCacheTest, KeepsOnePartOfEachType) {
  PanelCache cache;
  EXPECT_FALSE(cache.is_busy());
  cache.of<CountingPart>().frames_left = 2;
  EXPECT_EQ(cache.of<CountingPart>().frames_left, 2);
  EXPECT_EQ(cache.of<OtherPart>().value, 0);

  EXPECT_TRUE(cache.is_busy());
  cache.finish();
  EXPECT_FALSE(cache.is_busy());
  EXPECT_EQ(cache.of<OtherPart>().value, 7);
}

}  // namespace
}  // namespace stepscope::viewer
