// The whole window: places the panels and turns keys into moves.
#pragma once

#include "viewer/panels/panels.h"

namespace stepscope::viewer {

/// One frame between ImGui::NewFrame and ImGui::Render.
void draw_ui(Scene const& scene, ViewState& state, Memo& memo);
/// "findings", "details", "statistics", "kernels", "communication", "path", "flames", "memory", "run" → shown in front. False for
/// any other name.
bool show_panel(ViewState& state, std::string_view name);

}  // namespace stepscope::viewer
