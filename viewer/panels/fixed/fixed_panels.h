// The panels that are always on the screen, around the timeline and its tabs.
#pragma once

#include "viewer/panels/common/panel_cache.h"
#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

/// A bar a step: height = duration, colours = its split. A click shows the step.
void step_strip(Scene const& scene, ViewState& state, float height);
/// The whole run, a line a device, with the window on it: drag to move.
void overview(Scene const& scene, ViewState& state, PanelCache& cache, float height);
/// Findings by severity and cost; a click shows the place.
void findings(Scene const& scene, ViewState& state, float rows_height);
/// Everything that is known about the selection.
void details(Scene const& scene, ViewState& state, float rows_height);

}  // namespace stepscope::viewer
