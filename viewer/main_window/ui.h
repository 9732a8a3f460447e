// The whole window: places the panels and turns keys into moves.
#pragma once

#include "viewer/panels/common/panel.h"

namespace stepscope::viewer {

/// One frame between ImGui::NewFrame and ImGui::Render. `pair`: with the run as its base; null: the
/// run is shown alone.
void draw_ui(Scene const& scene, ViewState& state, PanelCache& cache, WindowLink window = {},
             RunPair* pair = nullptr);

}  // namespace stepscope::viewer
