// The whole window: places the panels and turns keys into moves.
#pragma once

#include "viewer/panels/panels.h"

namespace stepscope::viewer {

/// One frame between ImGui::NewFrame and ImGui::Render. `outside`: what is around the run, if anything is.
void draw_ui(Scene const& scene, ViewState& state, Memo& memo, Outside* outside = nullptr);
/// "findings", "details", "statistics", "kernels", "communication", "path", "flames", "memory", "run", "notes" → shown in front.
/// False for any other name.
bool show_panel(ViewState& state, std::string_view name);

}  // namespace stepscope::viewer
