// The parts of the window, one file each.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "viewer/main_window/actions.h"
#include "viewer/panels/common/panel.h"

namespace stepscope::viewer {

/// The line at the top: menus, run, search.
void top_bar(ActionScope const& scope);
/// The menus, in a line.
void menu_bar(ActionScope const& scope);
/// All keys and mouse gestures, over everything.
void help(ViewState& state);
/// The few keys that a reader of a run needs first, with what they do; and the same in the window
/// that is drawn.
std::vector<std::pair<std::string, std::string>> first_keys();
void draw_first_keys(Theme theme);
/// The box over everything, while it is open. It goes to a track by its name or does a command, so
/// the menus need no mouse.
void track_finder(ActionScope const& scope);
/// What a person has to know about the run's files, or about the file that keeps the view. Nothing
/// to know: nothing is drawn.
void notice(WindowLink const& window, Theme theme);

/// A line of tabs, and the panel that is in front below it.
void panel_tabs(PanelScope const& scope);

/// Shows the hits of the search box as soon as they are found.
void update_search(Scene const& scene, ViewState& state, PanelCache& cache);
/// Shows the event that Panels::seek looks for, once it is found; the words about it, in the line
/// at the top.
void update_same_name(Scene const& scene, ViewState& state, PanelCache& cache);
void same_name_words(ViewState const& state);

}  // namespace stepscope::viewer
