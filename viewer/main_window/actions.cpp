#include "viewer/main_window/actions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "viewer/interaction/navigate.h"
#include "viewer/interaction/notes.h"
#include "viewer/main_window/key_focus.h"
#include "viewer/panels/compared/run_pair.h"
#include "viewer/panels/panels.h"
#include "viewer/queries/step_comparison.h"
#include "viewer/scene/track_choice.h"

namespace stepscope::viewer {
namespace {

using Scope = ActionScope const&;

bool has_search(Scope scope) { return !scope.state.search.text.empty(); }
bool has_selection(Scope scope) { return scope.state.selection.has_value(); }
bool has_event(Scope scope) {
  return has_selection(scope) && scope.state.selection->what == Selection::What::kEvent;
}
bool has_collective(Scope scope) {
  return has_event(scope) && scope.scene.collective_of(*scope.state.selection) != nullptr;
}
bool has_findings(Scope scope) { return !scope.scene.analysis.findings.empty(); }
bool has_session(Scope scope) { return scope.window.requests != nullptr; }
bool has_pair(Scope scope) { return scope.pair != nullptr; }

constexpr Shortcut typed(char character) { return {.typed = character, .key = {}}; }
constexpr Shortcut pressed(Key key, bool repeats = false) {
  return {.typed = 0, .key = key, .ctrl = false, .repeats = repeats};
}
constexpr Shortcut with_ctrl(Key key) {
  return {.typed = 0, .key = key, .ctrl = true, .repeats = false};
}

bool has_track(Scope scope) { return chosen_track(scope.scene, scope.state).has_value(); }
/// The chosen track, or the group around one that has nothing below it.
std::optional<uint32_t> chosen_group(Scope scope) {
  auto const node = chosen_track(scope.scene, scope.state);
  bool const is_group = node && scope.scene.nodes[*node].subtree_end > *node + 1;
  return !node || is_group ? node : parent_of(scope.scene, *node);
}
bool has_group(Scope scope) { return chosen_group(scope).has_value(); }
bool is_chosen_pinned(Scope scope) {
  auto const node = chosen_track(scope.scene, scope.state);
  return node && is_pinned(scope.state, scope.scene, *node);
}
template <int kDirection>
bool has_movable(Scope scope) {
  auto const node = chosen_track(scope.scene, scope.state);
  return node && can_move(scope.state, scope.scene, *node, kDirection);
}
/// Where has_track().
uint32_t chosen(Scope scope) { return *chosen_track(scope.scene, scope.state); }
bool has_places(Scope scope) {
  auto const& focus = scope.state.finding;
  auto const& findings = scope.scene.analysis.findings;
  return focus && focus->finding < findings.size() && findings[focus->finding].evidence.size() > 1;
}

/// Three steps double the text.
constexpr float kTextStep = 1.26F;
float other_text_size(Scope scope, float factor) {
  float const wanted = scope.state.panels.text_size * factor;
  // Back from larger text it is the first size again, not nearly.
  if (std::abs(wanted - 1) < 0.05F) return 1;
  return std::clamp(wanted, kSmallestText, kLargestText);
}

bool has_notice(Scope scope) {
  // What was opened last is closed first.
  Panels const& panels = scope.state.panels;
  if (panels.finder.open || panels.help || panels.filter || scope.state.search.open) return false;
  auto const* const status = scope.window.status;
  return has_session(scope) && !(status->notice.empty() && status->file_notice.empty());
}
void dismiss_notice(Scope scope) {
  bool const of_files = !scope.window.status->file_notice.empty();
  (of_files ? scope.window.requests->file_notice_seen : scope.window.requests->notice_seen) = true;
}

/// How much wider or higher a panel gets at once, in pixels at scale 1. The window clamps it.
constexpr float kPanelStep = 60;

bool has_steps(Scope scope) { return !step_bars(scope.scene, scope.state.device).steps.empty(); }

constexpr std::array kFileActions = {
    Action{Menu::kFile, "Open…", with_ctrl(Key::kO),
           [](Scope s) { s.window.requests->ask_path = true; }, has_session, nullptr, false},
    Action{Menu::kFile,
           "Read the run again",
           {},
           [](Scope s) { s.window.requests->read_again = true; },
           has_session,
           nullptr,
           false},
    Action{Menu::kFile,
           "Follow a growing run",
           {},
           [](Scope s) { s.window.requests->toggle_follow = true; },
           has_session,
           [](Scope s) { return has_session(s) && s.window.status->follows; },
           false},
    Action{Menu::kFile,
           "Close the run",
           {},
           [](Scope s) { s.window.requests->close_run = true; },
           has_session,
           nullptr,
           false},
    Action{Menu::kFile,
           "Compare with another run…",
           {},
           [](Scope s) { s.window.requests->ask_compared = true; },
           has_session,
           nullptr,
           true},
    Action{Menu::kFile,
           "Close the comparison",
           {},
           [](Scope s) { s.window.requests->close_comparison = true; },
           [](Scope s) { return has_session(s) && has_pair(s); },
           nullptr,
           false},
};

constexpr std::array kViewActions = {
    Action{Menu::kView, "Whole run", pressed(Key::kHome),
           [](Scope s) { show_all(s.state, s.scene); }, nullptr, nullptr, false},
    Action{Menu::kView, "Back to the view before", pressed(Key::kBackspace, true),
           [](Scope s) { undo(s.state); }, [](Scope s) { return !s.state.history.empty(); },
           nullptr, false},
    Action{Menu::kView, "Zoom to the selection", pressed(Key::kF),
           [](Scope s) { zoom_to_selection(s.state, s.scene); }, nullptr, nullptr, false},
    Action{Menu::kView, "Mark the selection's time", pressed(Key::kM),
           [](Scope s) { mark_selection(s.state, s.scene); }, has_selection, nullptr, false},
    Action{Menu::kView, "Dismiss the message", pressed(Key::kEscape), dismiss_notice, has_notice,
           nullptr, false},
    Action{Menu::kView, "Close or clear one thing", pressed(Key::kEscape),
           [](Scope s) { dismiss(s.state); }, nullptr, nullptr, false},
    Action{Menu::kView, "Focus the next panel", pressed(Key::kF6),
           [](Scope s) { hand_keys_on(s.state); }, nullptr, nullptr, false},
    Action{Menu::kView, "Critical path in the timeline", typed('p'),
           [](Scope s) { s.state.panels.path = !s.state.panels.path; }, nullptr,
           [](Scope s) { return s.state.panels.path; }, true},
    Action{Menu::kView, "Larger text", with_ctrl(Key::kEqual),
           [](Scope s) { s.state.panels.text_size = other_text_size(s, kTextStep); }, nullptr,
           nullptr, true},
    Action{Menu::kView, "Smaller text", with_ctrl(Key::kMinus),
           [](Scope s) { s.state.panels.text_size = other_text_size(s, 1 / kTextStep); }, nullptr,
           nullptr, false},
    Action{Menu::kView,
           "Wider column at the right",
           {},
           [](Scope s) { s.state.panels.side_width += kPanelStep; },
           nullptr,
           nullptr,
           true},
    Action{Menu::kView,
           "Narrower column at the right",
           {},
           [](Scope s) { s.state.panels.side_width -= kPanelStep; },
           nullptr,
           nullptr,
           false},
    Action{Menu::kView,
           "Higher panel below",
           {},
           [](Scope s) { s.state.panels.bottom_height += kPanelStep; },
           nullptr,
           nullptr,
           false},
    Action{Menu::kView,
           "Lower panel below",
           {},
           [](Scope s) { s.state.panels.bottom_height -= kPanelStep; },
           nullptr,
           nullptr,
           false},
    Action{Menu::kView,
           "Light colours",
           {},
           [](Scope s) {
             s.state.theme = s.state.theme == Theme::kDark ? Theme::kLight : Theme::kDark;
           },
           nullptr,
           [](Scope s) { return s.state.theme == Theme::kLight; },
           false},
};

/// Behind the panels of two runs, in the same menu.
constexpr std::array kPairActions = {
    Action{Menu::kView,
           "Colour by change",
           {},
           [](Scope s) { s.pair->coloured = !s.pair->coloured; },
           has_pair,
           [](Scope s) { return has_pair(s) && s.pair->coloured; },
           false},
    Action{Menu::kView, "The other run in the panels", typed('x'),
           [](Scope s) {
             s.pair->bring_to_front(s.pair->front_side() == RunSide::kBase ? RunSide::kNew
                                                                           : RunSide::kBase);
           },
           has_pair, nullptr, false},
};

constexpr std::array kGoActions = {
    Action{Menu::kGo, "Find a track or a command…", with_ctrl(Key::kP),
           [](Scope s) { s.state.panels.finder = {.open = true, .text = {}}; }, nullptr, nullptr,
           false},
    Action{Menu::kGo, "Search events", typed('/'),
           [](Scope s) {
             s.state.search = {};
             s.state.search.open = true;
           },
           nullptr, nullptr, false},
    Action{Menu::kGo, "Next hit of the search", typed('n'),
           [](Scope s) { step_search(s.state, s.scene, 1, s.rows_height); }, has_search, nullptr,
           false},
    Action{Menu::kGo, "Previous hit of the search", typed('N'),
           [](Scope s) { step_search(s.state, s.scene, -1, s.rows_height); }, has_search, nullptr,
           false},
    Action{Menu::kGo, "Next of the same name", typed('.'),
           [](Scope s) { step_same_name(s.state, s.scene, 1); }, has_event, nullptr, true},
    Action{Menu::kGo, "Previous of the same name", typed(','),
           [](Scope s) { step_same_name(s.state, s.scene, -1); }, has_event, nullptr, false},
    Action{Menu::kGo, "From launch to device op and back", typed(']'),
           [](Scope s) { follow_link(s.state, s.scene, s.rows_height); }, has_event, nullptr,
           false},
    Action{Menu::kGo, "The same collective on the next device", typed('['),
           [](Scope s) { follow_collective(s.state, s.scene, s.rows_height); }, has_collective,
           nullptr, false},
    Action{Menu::kGo, "Next finding", typed('j'),
           [](Scope s) { step_finding(s.state, s.scene, 1, s.rows_height); }, has_findings, nullptr,
           true},
    Action{Menu::kGo, "Previous finding", typed('k'),
           [](Scope s) { step_finding(s.state, s.scene, -1, s.rows_height); }, has_findings,
           nullptr, false},
    Action{Menu::kGo, "Next place of the finding", typed('J'),
           [](Scope s) { step_place(s.state, s.scene, 1, s.rows_height); }, has_places, nullptr,
           false},
    Action{Menu::kGo, "Previous place of the finding", typed('K'),
           [](Scope s) { step_place(s.state, s.scene, -1, s.rows_height); }, has_places, nullptr,
           false},
    Action{Menu::kGo, "Next step", typed('}'), [](Scope s) { go_to_step(s.state, s.scene, 1); },
           has_steps, nullptr, true},
    Action{Menu::kGo, "Previous step", typed('{'),
           [](Scope s) { go_to_step(s.state, s.scene, -1); }, has_steps, nullptr, false},
    Action{Menu::kGo,
           "Compare the step with the median one",
           {},
           [](Scope s) { compare_step(s.state, s.scene); },
           has_steps,
           nullptr,
           false},
    Action{Menu::kGo, "Note here (while there is no search)", typed('n'),
           [](Scope s) { add_note(s.state, s.scene); }, nullptr, nullptr, true},
};

constexpr std::array kTrackActions = {
    Action{Menu::kTracks, "Filter…", typed('t'), [](Scope s) { s.state.panels.filter = true; },
           nullptr, [](Scope s) { return !s.state.tracks.filter.empty(); }, false},
    Action{Menu::kTracks,
           "Show all",
           {},
           [](Scope s) { show_all_tracks(s.state); },
           [](Scope s) { return !s.state.tracks.hidden.empty() || !s.state.tracks.filter.empty(); },
           nullptr,
           false},
    Action{Menu::kTracks,
           "Unpin all",
           {},
           [](Scope s) { s.state.tracks.pinned.clear(); },
           [](Scope s) { return !s.state.tracks.pinned.empty(); },
           nullptr,
           false},
    Action{Menu::kTracks,
           "In the order of the run",
           {},
           [](Scope s) { s.state.tracks.order.clear(); },
           [](Scope s) { return !s.state.tracks.order.empty(); },
           nullptr,
           false},
    Action{Menu::kTracks, "Open or close the chosen group", typed('o'),
           [](Scope s) { toggle_open(s.state, *chosen_group(s)); }, has_group, nullptr, true},
    Action{Menu::kTracks,
           "Pin the chosen one",
           {},
           [](Scope s) { toggle_pin(s.state, s.scene, chosen(s)); },
           has_track,
           is_chosen_pinned,
           false},
    Action{Menu::kTracks,
           "Hide the chosen one",
           {},
           [](Scope s) { hide(s.state, s.scene, chosen(s)); },
           has_track,
           nullptr,
           false},
    Action{Menu::kTracks,
           "Hide all others of its kind",
           {},
           [](Scope s) { hide_others(s.state, s.scene, chosen(s)); },
           has_track,
           nullptr,
           false},
    Action{Menu::kTracks,
           "Move the chosen one up",
           {},
           [](Scope s) { move_track(s.state, s.scene, chosen(s), -1); },
           has_movable<-1>,
           nullptr,
           false},
    Action{Menu::kTracks,
           "Move the chosen one down",
           {},
           [](Scope s) { move_track(s.state, s.scene, chosen(s), 1); },
           has_movable<1>,
           nullptr,
           false},
    Action{Menu::kTracks, "Open all", typed('+'), [](Scope s) { open_all(s.state); },
           [](Scope s) { return !s.state.closed.empty(); }, nullptr, true},
    Action{Menu::kTracks, "Close all ranks", typed('-'),
           [](Scope s) { close_all_ranks(s.state, s.scene); }, nullptr, nullptr, false},
};

constexpr std::array kHelpActions = {
    Action{Menu::kHelp, "Keys and mouse", typed('?'),
           [](Scope s) { s.state.panels.help = !s.state.panels.help; }, nullptr,
           [](Scope s) { return s.state.panels.help; }, false},
};

constexpr std::array kGestures = {
    Gesture{"wheel, W S", "zoom at the mouse"},
    Gesture{"drag, A D, left, right", "move"},
    Gesture{"shift + drag, drag on the ruler", "mark a range: panels show it"},
    Gesture{"shift + wheel", "move in time"},
    Gesture{"ctrl + wheel, wheel over the names, up, down", "scroll the tracks"},
    Gesture{"click", "select; on a name: open or close the group"},
    Gesture{"right click on a name", "pin, hide, move the track"},
    Gesture{"drag a name", "move the track among its neighbours; Esc cancels"},
    Gesture{"double-click", "zoom to it"},
    Gesture{"click, shift + click on a step", "show it; compare it with the median step"},
    Gesture{"Enter in the search", "next hit"},
    Gesture{"ctrl + left, right", "the event before, after it on the track"},
    Gesture{"after F6: arrows, space", "choose, press; Esc: back to the timeline"},
};

Action action_of(Panel const& panel) {
  Action action;
  action.menu = Menu::kView;
  action.name = panel.title;
  action.shortcut = typed(panel.key);
  action.opens = Tab{panel.id};
  if (panel.needs == PanelNeeds::kPair) action.is_enabled = has_pair;
  return action;
}

/// The panels of one run, or those that need two. The first one begins a group.
void add_panels(std::vector<Action>& all, std::span<Panel const> panels, bool of_pair) {
  bool begins_group = true;
  for (Panel const& panel : panels) {
    if ((panel.needs == PanelNeeds::kPair) != of_pair) continue;
    all.push_back(action_of(panel));
    all.back().begins_group = std::exchange(begins_group, false);
  }
}

}  // namespace

std::vector<Action> actions_with(std::span<Panel const> panels) {
  std::vector<Action> all;
  auto const add = [&all](std::span<Action const> actions) {
    all.insert(all.end(), actions.begin(), actions.end());
  };

  add(kFileActions);
  add(kViewActions);
  add_panels(all, panels, false);
  add_panels(all, panels, true);
  add(kPairActions);
  add(kGoActions);
  add(kTrackActions);
  add(kHelpActions);
  return all;
}

std::span<Action const> all_actions() {
  static std::vector<Action> const all = actions_with(all_panels());
  return all;
}

std::vector<Action const*> find_actions(std::string_view text, ActionScope const& scope) {
  bool const is_empty = text.find_first_not_of(' ') == std::string_view::npos;
  std::vector<Action const*> found;
  for (Action const& action : all_actions()) {
    std::string const words = std::string(menu_name(action.menu)) + " " + action.name;
    if ((is_empty || has_words(words, text)) && is_enabled(action, scope)) found.push_back(&action);
  }
  return found;
}

void run(Action const& action, ActionScope const& scope) {
  if (action.command != nullptr) return action.command(scope);
  scope.state.panels.tab = action.opens;
}

bool is_on(Action const& action, ActionScope const& scope) {
  if (action.command == nullptr) return scope.state.panels.tab == action.opens;
  return action.is_on != nullptr && action.is_on(scope);
}

std::span<Gesture const> gestures() { return kGestures; }

char const* menu_name(Menu menu) {
  static constexpr std::array<char const*, kMenus> kNames = {"File", "View", "Go", "Tracks",
                                                             "Help"};
  return kNames[static_cast<size_t>(menu)];
}

bool is_enabled(Action const& action, ActionScope const& scope) {
  return action.is_enabled == nullptr || action.is_enabled(scope);
}

void read_keys(ActionScope const& scope) {
  bool const writing = ImGui::GetIO().WantTextInput;
  Panels const& panels = scope.state.panels;
  bool const closes_box = panels.finder.open || panels.filter || scope.state.search.open;

  std::vector<Shortcut> done;
  for (Action const& action : all_actions()) {
    bool const leaves_box = action.shortcut.key == Key::kEscape && closes_box;
    // In a list it leads to the first row.
    if (panels.keys != KeyPlace::kTimeline && action.shortcut.key == Key::kHome) continue;
    if (writing && !action.shortcut.ctrl && !leaves_box) continue;

    if (!is_pressed(action.shortcut) || !is_enabled(action, scope)) continue;
    if (std::find(done.begin(), done.end(), action.shortcut) != done.end()) continue;
    done.push_back(action.shortcut);
    run(action, scope);
  }
}

}  // namespace stepscope::viewer
