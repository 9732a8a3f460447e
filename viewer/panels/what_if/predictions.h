// What the panel What-if asks of the replay, on other threads: the graph once, then the fixes of
// the findings, and the changes in the box whenever they change.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "viewer/panels/common/panel_cache.h"
#include "viewer/queries/ghost_tracks.h"
#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

/// What is known in a frame. Pointers hold until the next one.
struct WhatIfStatus {
  std::string error;    ///< what is wrong with the text in the box; empty: nothing is
  std::string failure;  ///< why the run cannot be replayed; empty: it can, or is not known yet
  bool is_predicting = false, is_finding_fixes = false;
  std::shared_ptr<analyzer::ReplaySession const> session;
  analyzer::WhatIfAnswer const* answer = nullptr;  ///< to the last text that was answered
  std::vector<analyzer::WhatIfFix> const* fixes = nullptr;
};

/// Asks for what the panel and the timeline show; says in WhatIfView::nodes which rows have a ghost
/// track in this frame. Once a frame, before it is laid out. `is_alone`: no other run is compared,
/// else there are no ghosts.
void update_what_if(Scene const& scene, ViewState& state, PanelCache& cache, bool is_alone);
/// What update_what_if() found.
WhatIfStatus what_if_so_far(PanelCache& cache);
/// What the timeline draws; null: nothing.
GhostTracks const* shown_ghosts(ViewState const& state, PanelCache& cache);

}  // namespace stepscope::viewer
