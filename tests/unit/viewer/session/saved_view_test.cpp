#include "viewer/session/saved_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/viewer/scenes.h"
#include "viewer/interaction/notes.h"
#include "viewer/scene/track_choice.h"

namespace stepscope::viewer {
namespace {

Scene const& three_ranks() {
  static Scene const kScene =
      synthetic_scene({.devices = 3, .steps = 4, .process_per_device = true});
  return kScene;
}

ViewState changed_state() {
  ViewState state = initial_view(three_ranks());
  state.window = {1e6, 7.25e6};
  state.range = TimeWindow{2e6, 3e6};
  state.scroll = 33;
  state.theme = Theme::kLight;

  state.panels.tab = Tab{"memory"};
  state.panels.path = true;
  state.panels.side_width = 411;
  state.panels.bottom_height = 222;
  state.panels.text_size = 1.5F;

  state.closed = {*node_of_path(three_ranks(), "Rank 1")};
  state.tracks.pinned = {"Rank 2"};
  state.tracks.filter = "rank";
  hide(state, three_ranks(), *node_of_path(three_ranks(), "Rank 0"));
  move_track(state, three_ranks(), *node_of_path(three_ranks(), "Rank 2"), -1);

  state.notes = {{5, "early"}, {2'000'000, "über \"quoted\" 😀"}};
  return state;
}

TEST(SavedView, IsReadAsItWasWritten) {
  ViewState const state = changed_state();
  SavedView const saved = saved_view(three_ranks(), state);
  auto const read = parse_saved_view(saved_view_text(saved), "x");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, saved);
  ViewState candidate = initial_view(three_ranks());
  apply_saved_view(*read, three_ranks(), candidate);
  EXPECT_TRUE(same_view(candidate, state));
  EXPECT_TRUE(candidate.history.empty());
}

TEST(SavedView, KeepsNothingThatIsNotOfTheView) {
  ViewState state = changed_state();
  ViewState other = state;
  other.selection = Selection{};
  other.search.text = "x";
  other.panels.help = true;
  EXPECT_TRUE(same_view(state, other));
  EXPECT_TRUE(same_view(kept_part(state), state));
  other.notes.pop_back();
  EXPECT_FALSE(same_view(state, other));
}

TEST(SavedView, FitsARunThatHasChangedByThePathsOfItsTracks) {
  SavedView const saved = saved_view(three_ranks(), changed_state());
  Scene const fewer = synthetic_scene({.devices = 2, .steps = 4, .process_per_device = true});
  ViewState state = initial_view(fewer);
  apply_saved_view(saved, fewer, state);
  EXPECT_THAT(state.closed, testing::ElementsAre(*node_of_path(fewer, "Rank 1")));
  EXPECT_EQ(count_hidden(fewer, state.tracks), 1U);
  EXPECT_TRUE(pinned_tracks(fewer, state.tracks).empty());
  // Tracks that this run lacks may exist the next time.
  EXPECT_EQ(state.tracks.pinned, saved.tracks.pinned);
}

TEST(SavedView, StaysWithinTheRun) {
  SavedView saved;
  saved.window = TimeWindow{-1e18, 2e18};
  saved.range = TimeWindow{1e17, 2e17};
  ViewState state = initial_view(three_ranks());
  apply_saved_view(saved, three_ranks(), state);
  EXPECT_LE(state.window.span(), 2.1 * static_cast<double>(three_ranks().length));
  EXPECT_FALSE(state.range);
}

TEST(SavedView, WhatIsNotSaidStaysAsItIs) {
  auto const saved = parse_saved_view(
      R"json({"kind": "stepscope view", "schema": 1, "tab": "a panel of tomorrow"})json", "x");
  ASSERT_TRUE(saved) << saved.error().message;
  ViewState state = initial_view(three_ranks());
  ViewState const before = state;
  apply_saved_view(*saved, three_ranks(), state);
  EXPECT_EQ(state, before);
}

TEST(SavedView, OfHostileContentIsAnErrorThatNamesTheFile) {
  std::string const deep = std::string(200'000, '[') + std::string(200'000, ']');

  for (std::string const& members :
       {std::string(R"json("window_ns": [5, 5])json"),
        std::string(R"json("window_ns": [1, 1e999])json"),
        std::string(R"json("window_ns": [1])json"),
        std::string(R"json("window_ns": ["a", 2])json"),
        std::string(R"json("marked_ns": [3, 2])json"),
        std::string(R"json("theme": "green")json"),
        std::string(R"json("theme": 1)json"),
        std::string(R"json("scroll": -1)json"),
        std::string(R"json("scroll": 1e30)json"),
        std::string(R"json("closed": "all")json"),
        std::string(R"json("closed": [1])json"),
        std::string(R"json("critical_path": 1)json"),
        std::string(R"json("tracks": [])json"),
        std::string(R"json("tracks": {"hidden": {}})json"),
        std::string(R"json("tracks": {"order": {}})json"),
        std::string(R"json("tracks": {"order": [{"group": 1, "tracks": []}]})json"),
        std::string(R"json("notes": [1])json"),
        std::string(R"json("notes": [{"time_ns": 1}])json"),
        std::string(R"json("notes": [{"time_ns": 1.5, "text": ""}])json"),
        std::string(R"json("notes": [{"time_ns": 18446744073709551615, "text": ""}])json"),
        R"json("notes": [{"time_ns": 1, "text": ")json" + std::string(10'000, 'x') + "\"}]",
        "\"tab\": " + deep,
        "\"closed\": [\"" + std::string(10'000, 'x') + "\"]"}) {
    std::string const text = R"json({"kind": "stepscope view", "schema": 1, )json" + members + "}";
    auto const read = parse_saved_view(text, "the file");
    ASSERT_FALSE(read) << members.substr(0, 80);
    EXPECT_NE(read.error().message.find("the file"), std::string::npos);
    EXPECT_LT(read.error().message.size(), 300U);
  }

  for (char const* text :
       {"", "{", "[]", "null", "\xFF\xFE", "{\"kind\": \"stepscope view\", \"schema\": 2}",
        "{\"schema\": 1}", "{\"traceEvents\": []}"})
    EXPECT_FALSE(parse_saved_view(text, "the file")) << text;
}

TEST(Notes, StandInTheOrderOfTheirTimes) {
  ViewState state = initial_view(three_ranks());
  for (double const time : {3e6, 1e6, 2e6, 1e30, -5.0}) {
    state.panels.pointed = time;
    add_note(state, three_ranks());
    ASSERT_TRUE(state.panels.new_note);
    state.notes[*state.panels.new_note].text = std::to_string(time);
  }

  for (size_t i = 1; i < state.notes.size(); ++i)
    EXPECT_LE(state.notes[i - 1].time_ns, state.notes[i].time_ns);
  EXPECT_EQ(state.notes.front().time_ns, 0);
  EXPECT_EQ(state.notes.back().time_ns, three_ranks().length);
  EXPECT_EQ(state.panels.tab, Tab::kNotes);

  delete_note(state, 1);
  EXPECT_EQ(state.notes.size(), 4U);
  EXPECT_EQ(state.notes[1].time_ns, 2'000'000);
  delete_note(state, 100);
  EXPECT_EQ(state.notes.size(), 4U);
}

TEST(Notes, BeginWhereTheSelectionBeginsWhenTheMouseIsElsewhere) {
  ViewState state = initial_view(three_ranks());
  EXPECT_DOUBLE_EQ(note_time(state, three_ranks()), static_cast<double>(three_ranks().length) / 2);
  state.selection = Selection{Selection::What::kEvent, 1, 5};
  EXPECT_DOUBLE_EQ(note_time(state, three_ranks()),
                   static_cast<double>(three_ranks().when(*state.selection).begin));
  state.panels.pointed = 77;
  EXPECT_DOUBLE_EQ(note_time(state, three_ranks()), 77);
}

TEST(Notes, AreAsManyAsAFileHolds) {
  ViewState state = initial_view(three_ranks());
  for (size_t i = 0; i < kMostNotes + 5; ++i) add_note(state, three_ranks());
  EXPECT_EQ(state.notes.size(), kMostNotes);
  EXPECT_TRUE(parse_saved_view(saved_view_text(saved_view(three_ranks(), state)), "x"));
}

TEST(Notes, AreShownInTheMiddleAtTheSameZoom) {
  ViewState state = initial_view(three_ranks());
  state.window = {0, 1e6};
  state.notes = {{5'000'000, "x"}};
  go_to_note(state, three_ranks(), 0);
  EXPECT_NEAR(state.window.begin, 4.5e6, 1);
  EXPECT_NEAR(state.window.end, 5.5e6, 1);
}

}  // namespace
}  // namespace stepscope::viewer
