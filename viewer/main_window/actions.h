// What a person can do, as one table: the menus, the keys and the page of keys are read from it, so
// that they cannot disagree.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "viewer/main_window/shortcut.h"
#include "viewer/panels/common/panel.h"
#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {

/// What an action looks at and changes.
struct ActionScope {
  Scene const& scene;
  ViewState& state;
  float rows_height;  ///< of the timeline at scale 1, for reveal()
  WindowLink window;
  RunPair* pair = nullptr;  ///< with the run as one of its two; null: the run is shown alone
};

enum class Menu : uint8_t { kFile, kView, kGo, kTracks, kHelp };
inline constexpr int kMenus = 5;
char const* menu_name(Menu menu);

/// Where two actions have one key, the first that is enabled runs.
struct Action {
  Menu menu = Menu::kView;
  char const* name = "";  ///< as it stands in the menu
  Shortcut shortcut;
  void (*command)(ActionScope const&) = nullptr;     ///< null: the action opens a panel
  bool (*is_enabled)(ActionScope const&) = nullptr;  ///< null: always
  bool (*is_on)(ActionScope const&) = nullptr;       ///< of a switch
  bool begins_group = false;                         ///< a line before it
  Tab opens;                                         ///< the panel
};

/// In the order of the menus.
std::span<Action const> all_actions();
/// The same table with other panels in the menu View.
std::vector<Action> actions_with(std::span<Panel const> panels);
void run(Action const& action, ActionScope const& scope);
/// Actions that can be done now and have all words of the text in their menu's name and their own.
/// An empty text finds all.
std::vector<Action const*> find_actions(std::string_view text, ActionScope const& scope);
/// Whether a switch is on, or a panel in front.
[[nodiscard]] bool is_on(Action const& action, ActionScope const& scope);
[[nodiscard]] bool is_enabled(Action const& action, ActionScope const& scope);
/// Does what the keys of this frame ask for. Text boxes keep their letters.
void read_keys(ActionScope const& scope);

/// What the mouse and held keys do, in words: "wheel, W S" → "zoom at the mouse".
struct Gesture {
  char const* keys;
  char const* words;
};
std::span<Gesture const> gestures();

}  // namespace stepscope::viewer
