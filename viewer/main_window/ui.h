// The whole window: places the panels and turns keys into moves.
#pragma once

#include "viewer/panels/panels.h"

namespace stepscope::viewer {

/// One frame between ImGui::NewFrame and ImGui::Render. `outside`: what is around the run, if
/// anything is. `pair`: of which the run is the base; null: it is shown alone.
void draw_ui(Scene const& scene, ViewState& state, Memo& memo, Outside* outside = nullptr,
             RunPair* pair = nullptr);
/// One of panel_names() → shown in front. False for any other name.
bool show_panel(ViewState& state, std::string_view name);
/// "findings, details, statistics, … or notes".
std::string panel_names();

}  // namespace stepscope::viewer
