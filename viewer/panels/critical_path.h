// The line of the critical path, which the timeline draws, too.
#pragma once

#include "viewer/panels/common/panel_cache.h"
#include "viewer/queries/path_line.h"
#include "viewer/scene/scene.h"

namespace stepscope::viewer {

/// The line as far as it is found; begins to look for it. Null: nothing is found yet.
PathLine const* path_so_far(Scene const& scene, PanelCache& cache);

}  // namespace stepscope::viewer
