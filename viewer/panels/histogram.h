// The durations of the device ops of one name, as bars that can be clicked.
#pragma once

#include "viewer/panels/common/panel_cache.h"
#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

/// The bars of the name that is searched for as a whole (search_query.h), on the chosen device. A
/// click on a bar searches for its calls, which then stand out in the timeline.
void duration_bars(Scene const& scene, ViewState& state, PanelCache& cache);

}  // namespace stepscope::viewer
