// What the two halves of lay_out() share: the rows with their items come first, then what lies over
// them.
#pragma once

#include <algorithm>

#include "viewer/scene/fold.h"
#include "viewer/timeline/layout.h"

namespace stepscope::viewer {

/// Adds step lines, ticks, marks of the search, the critical path, the selection with its relatives
/// and the evidence of the finding in focus. `layout` has its rows.
void add_overlays(Scene const& scene, ViewState const& state, PathLine const* path, Layout& layout);

/// Adds the predicted events and steps under the rows that have a ghost track.
void add_ghosts(Scene const& scene, ViewState const& state, GhostTracks const& ghosts,
                Layout& layout);

/// Names of one class that follow each other differ in lightness; the same name looks the same
/// everywhere.
[[nodiscard]] inline uint8_t shade_of(uint32_t name) {
  return static_cast<uint8_t>(name * 2654435761U >> 30U);
}

[[nodiscard]] inline float clamp_x(Layout const& layout, double x) {
  return static_cast<float>(std::clamp(x, 0.0, static_cast<double>(layout.viewport.width)));
}

/// fold() over the window of the layout.
template <class Begin, class End, class Before, class Visit>
void fold_window(Layout const& layout, size_t count, Begin begin, End end, Before before,
                 Visit visit) {
  if (layout.viewport.width < 1) return;
  fold(static_cast<uint32_t>(count), layout.window.begin, layout.window.end,
       static_cast<double>(layout.viewport.width), begin, end, before, visit);
}

}  // namespace stepscope::viewer
