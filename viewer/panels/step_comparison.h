// The chosen step compared with the median step.
#pragma once

#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

/// False: no step is chosen, and nothing was drawn.
bool step_comparison(Scene const& scene, ViewState& state);

}  // namespace stepscope::viewer
