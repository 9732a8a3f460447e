// THE list of panels below the timeline. Tabs, the menu View, keys, saved views and --panel read
// it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "viewer/panels/common/panel.h"

namespace stepscope::viewer {

/// In the order of the tabs.
std::span<Panel const> all_panels();
/// The panel with this id; null: there is none.
Panel const* find_panel(std::string_view id);
/// Brings one of panel_names() to the front. False: no panel has this name.
bool show_panel(ViewState& state, std::string_view name);
/// "findings, details, comparison, statistics, … or what-if".
std::string panel_names();

}  // namespace stepscope::viewer
