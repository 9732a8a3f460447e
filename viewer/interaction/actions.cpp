#include "viewer/interaction/actions.h"

#include <algorithm>
#include <array>

#include "viewer/interaction/navigate.h"
#include "viewer/interaction/notes.h"
#include "viewer/scene/track_choice.h"
#include "viewer/session/run_pair.h"

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
bool has_session(Scope scope) { return scope.outside != nullptr; }
bool has_pair(Scope scope) { return scope.pair != nullptr; }

constexpr Shortcut typed(char character) { return {.typed = character, .key = {}}; }
constexpr Shortcut pressed(Key key, bool repeats = false) {
  return {.typed = 0, .key = key, .ctrl = false, .repeats = repeats};
}
constexpr Shortcut with_ctrl(Key key) {
  return {.typed = 0, .key = key, .ctrl = true, .repeats = false};
}

template <Tab tab>
constexpr Action tab_action(char const* name, char key, bool begins_group = false) {
  return {.menu = Menu::kView,
          .name = name,
          .shortcut = typed(key),
          .run = [](Scope scope) { scope.state.panels.tab = tab; },
          .is_enabled = nullptr,
          .is_on = [](Scope scope) { return scope.state.panels.tab == tab; },
          .begins_group = begins_group};
}

constexpr std::array kFileActions = {
    Action{Menu::kFile, "Open…", with_ctrl(Key::kO), [](Scope s) { s.outside->ask_path = true; },
           has_session, nullptr, false},
    Action{Menu::kFile,
           "Read the run again",
           {},
           [](Scope s) { s.outside->read_again = true; },
           has_session,
           nullptr,
           false},
    Action{Menu::kFile,
           "Follow what is being written",
           {},
           [](Scope s) { s.outside->toggle_follow = true; },
           has_session,
           [](Scope s) { return has_session(s) && s.outside->follows; },
           false},
    Action{Menu::kFile,
           "Close the run",
           {},
           [](Scope s) { s.outside->close_run = true; },
           has_session,
           nullptr,
           false},
    Action{Menu::kFile,
           "Compare with another run…",
           {},
           [](Scope s) { s.outside->ask_compared = true; },
           has_session,
           nullptr,
           true},
    Action{Menu::kFile,
           "Close the comparison",
           {},
           [](Scope s) { s.outside->close_comparison = true; },
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
    Action{Menu::kView, "Close or clear one thing", pressed(Key::kEscape),
           [](Scope s) { dismiss(s.state); }, nullptr, nullptr, false},
    Action{Menu::kView, "Critical path in the timeline", typed('p'),
           [](Scope s) { s.state.panels.path = !s.state.panels.path; }, nullptr,
           [](Scope s) { return s.state.panels.path; }, true},
    Action{Menu::kView,
           "Light colours",
           {},
           [](Scope s) {
             s.state.theme = s.state.theme == Theme::kDark ? Theme::kLight : Theme::kDark;
           },
           nullptr,
           [](Scope s) { return s.state.theme == Theme::kLight; },
           false},
    tab_action<Tab::kStatistics>("Statistics", '1', true),
    tab_action<Tab::kKernels>("Kernels", '2'),
    tab_action<Tab::kCommunication>("Communication", '3'),
    tab_action<Tab::kPath>("Critical path", '4'),
    tab_action<Tab::kFlame>("Flame graph", '5'),
    tab_action<Tab::kMemory>("Memory", '6'),
    tab_action<Tab::kRun>("Run", '7'),
    tab_action<Tab::kNotes>("Notes", '8'),
    tab_action<Tab::kLaunches>("Launches & copies", '9'),
    tab_action<Tab::kPhases>("Phases & pipelines", '0'),
    tab_action<Tab::kDevices>("Devices", 0),
    tab_action<Tab::kScaling>("Scaling", 0),
    Action{Menu::kView, "Comparison", typed('c'),
           [](Scope s) { s.state.panels.tab = Tab::kComparison; }, has_pair,
           [](Scope s) { return s.state.panels.tab == Tab::kComparison; }, true},
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
    Action{Menu::kGo, "Find a track…", with_ctrl(Key::kP),
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

constexpr auto kActions = [] {
  std::array<Action, kFileActions.size() + kViewActions.size() + kGoActions.size() +
                         kTrackActions.size() + kHelpActions.size()>
      all;
  auto at = std::copy(kFileActions.begin(), kFileActions.end(), all.begin());
  at = std::copy(kViewActions.begin(), kViewActions.end(), at);
  at = std::copy(kGoActions.begin(), kGoActions.end(), at);
  at = std::copy(kTrackActions.begin(), kTrackActions.end(), at);
  std::copy(kHelpActions.begin(), kHelpActions.end(), at);
  return all;
}();

constexpr std::array kGestures = {
    Gesture{"wheel, W S", "zoom at the mouse"},
    Gesture{"drag, A D, arrows", "move"},
    Gesture{"shift + drag, drag on the ruler", "mark a range: panels show it"},
    Gesture{"shift + wheel", "move in time"},
    Gesture{"ctrl + wheel, wheel over the names", "scroll the tracks"},
    Gesture{"click", "select; on a name: open or close the group"},
    Gesture{"right click on a name", "pin, hide, move the track"},
    Gesture{"drag a name", "move the track among its neighbours; Esc: not"},
    Gesture{"double-click", "zoom to it"},
    Gesture{"click, shift + click on a step", "show it; compare it with the median step"},
    Gesture{"Enter in the search", "next hit"},
};

char const* key_name(Key key) {
  switch (key) {
    case Key::kA:
      return "A";
    case Key::kD:
      return "D";
    case Key::kF:
      return "F";
    case Key::kM:
      return "M";
    case Key::kO:
      return "O";
    case Key::kP:
      return "P";
    case Key::kS:
      return "S";
    case Key::kW:
      return "W";
    case Key::kEscape:
      return "Esc";
    case Key::kBackspace:
      return "Backspace";
    case Key::kEnter:
      return "Enter";
    case Key::kLeft:
      return "Left";
    case Key::kRight:
      return "Right";
    case Key::kUp:
      return "Up";
    case Key::kDown:
      return "Down";
    case Key::kHome:
      return "Home";
  }
  return "";
}

}  // namespace

std::span<Action const> all_actions() { return kActions; }
std::span<Gesture const> gestures() { return kGestures; }

char const* menu_name(Menu menu) {
  static constexpr std::array<char const*, kMenus> kNames = {"File", "View", "Go", "Tracks",
                                                             "Help"};
  return kNames[static_cast<size_t>(menu)];
}

bool is_enabled(Action const& action, ActionScope const& scope) {
  return action.is_enabled == nullptr || action.is_enabled(scope);
}

std::string words_of(Shortcut const& shortcut) {
  char const c = shortcut.typed;
  if (c >= 'A' && c <= 'Z') return std::string("Shift+") + c;
  if (c >= 'a' && c <= 'z') return std::string(1, static_cast<char>(c - 'a' + 'A'));
  if (c != 0) return std::string(1, c);
  if (!shortcut.key) return {};
  return std::string(shortcut.ctrl ? "Ctrl+" : "") + key_name(*shortcut.key);
}

bool is_pressed(Shortcut const& shortcut) {
  ImGuiIO const& io = ImGui::GetIO();
  if (io.KeyCtrl != shortcut.ctrl && shortcut.exists()) return false;
  if (shortcut.typed != 0) {
    auto const wanted = static_cast<ImWchar>(shortcut.typed);
    return std::find(io.InputQueueCharacters.begin(), io.InputQueueCharacters.end(), wanted) !=
           io.InputQueueCharacters.end();
  }
  return shortcut.key && key_pressed(*shortcut.key, shortcut.repeats);
}

void read_keys(ActionScope const& scope) {
  bool const writing = ImGui::GetIO().WantTextInput;
  Panels const& panels = scope.state.panels;
  bool const closes_box = panels.finder.open || panels.filter || scope.state.search.open;
  std::vector<Shortcut> done;
  for (Action const& action : all_actions()) {
    bool const leaves_box = action.shortcut.key == Key::kEscape && closes_box;
    if (writing && !action.shortcut.ctrl && !leaves_box) continue;
    if (!is_pressed(action.shortcut) || !is_enabled(action, scope)) continue;
    if (std::find(done.begin(), done.end(), action.shortcut) != done.end()) continue;
    done.push_back(action.shortcut);
    action.run(scope);
  }
}

}  // namespace stepscope::viewer
