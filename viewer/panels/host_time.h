// Where the time of a run without devices goes.
#pragma once

#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

/// Time by range, threads, and who came last to negotiations of collectives.
void host_time(Scene const& scene, ViewState& state);

}  // namespace stepscope::viewer
