// What a person can do, as one table: the menus, the keys and the page of keys are read from it, so
// that they cannot disagree.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"
#include "viewer/session/following.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {

class RunPair;

/// What is around the run in its window, and what was asked for there in a frame: the session's,
/// which takes the wishes after it.
struct Outside {
  std::vector<std::string> recent;  ///< runs, for the menu
  std::string kept_in;              ///< the file in which view and notes are kept; empty: nowhere
  std::string notice;  ///< what a person has to know of that: printable; empty: nothing

  std::string open;        ///< wish: this run
  bool ask_path = false;   ///< wish: ask which run
  bool close_run = false;  ///< wish

  Recording recording = Recording::kWhole;
  bool follows = false;        ///< what is being written is read as it comes
  std::string file_notice;     ///< what happened to the run's files; hostile text; empty: nothing
  bool toggle_follow = false;  ///< wish
  bool read_again = false;     ///< wish
  bool file_notice_seen = false;  ///< wish

  bool ask_compared = false;       ///< wish: ask with which run this one is compared
  bool close_comparison = false;   ///< wish: only the base again
  std::optional<size_t> show_run;  ///< wish: this run of the series on the timeline
  bool seen = false;               ///< wish: the notice was read
};

/// What an action looks at and changes.
struct ActionScope {
  Scene const& scene;
  ViewState& state;
  float rows_height;        ///< of the timeline at scale 1, for reveal()
  Outside* outside;         ///< null: nothing is around the run (a picture, a test)
  RunPair* pair = nullptr;  ///< of which the run is one; null: it is shown alone
};

/// A character that is typed, whatever the keyboard's layout, or a key.
struct Shortcut {
  char typed = 0;
  std::optional<Key> key;
  bool ctrl = false, repeats = false;
  [[nodiscard]] bool exists() const { return typed != 0 || key.has_value(); }
  friend bool operator==(Shortcut const&, Shortcut const&) = default;
};

enum class Menu : uint8_t { kFile, kView, kGo, kTracks, kHelp };
inline constexpr int kMenus = 5;
char const* menu_name(Menu menu);

/// Of two with one key the first that is enabled is done.
struct Action {
  Menu menu = Menu::kView;
  char const* name = "";  ///< as it stands in the menu
  Shortcut shortcut;
  void (*run)(ActionScope const&) = nullptr;
  bool (*is_enabled)(ActionScope const&) = nullptr;  ///< null: always
  bool (*is_on)(ActionScope const&) = nullptr;       ///< of a switch
  bool begins_group = false;                         ///< a line before it
};

/// In the order of the menus.
std::span<Action const> all_actions();
[[nodiscard]] bool is_enabled(Action const& action, ActionScope const& scope);
/// "Ctrl+P", "Shift+N", "Home"; empty without one.
std::string words_of(Shortcut const& shortcut);
/// Whether it was pressed in this frame.
bool is_pressed(Shortcut const& shortcut);
/// Does what the keys of this frame ask for. Text boxes keep their letters.
void read_keys(ActionScope const& scope);

/// What the mouse and held keys do, in words: "wheel, W S" → "zoom at the mouse".
struct Gesture {
  char const* keys;
  char const* words;
};
std::span<Gesture const> gestures();

}  // namespace stepscope::viewer
