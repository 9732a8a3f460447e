// A panel: a row of the list in viewer/panels/panels.cpp, and what its draw function gets.
#pragma once

#include <cstdint>

#include "viewer/panels/common/panel_cache.h"
#include "viewer/panels/common/window_link.h"
#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

class RunPair;

/// What a panel shows, and what it may change. It remembers nothing outside the cache.
struct PanelScope {
  Scene const& scene;
  ViewState& state;
  PanelCache& cache;
  float rows_height = 0;  ///< of the timeline at scale 1, for reveal()
  WindowLink window;
  RunPair* pair = nullptr;  ///< with the scene as one of its runs; null: the run is shown alone
};

/// What has to be there before a panel is drawn.
enum class PanelNeeds : uint8_t {
  kNothing,
  kAnalysis,  ///< until then the panel says how far the analysis is
  kSeries,  ///< several runs: without them the panel has no tab unless it is open, and says how to
            ///< open them
  kPair     ///< two runs being compared: without them the panel cannot be opened
};

struct Panel {
  char const*
      id;  ///< without blanks, in static storage: saved views, --panel and Tab know the panel by it
  char const* title;  ///< of its tab and in the menu
  char key;           ///< opens it when typed; 0: no key does
  PanelNeeds needs;
  void (*draw)(PanelScope const& scope);
};

}  // namespace stepscope::viewer
