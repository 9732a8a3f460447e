// Tracks are moved by dragging their names: where one would go, what shows it, and the move itself,
// which is the one of the track's menu.
#pragma once

#include <cstdint>
#include <optional>

#include "viewer/timeline/draw.h"
#include "viewer/timeline/layout.h"

namespace stepscope::viewer {

/// Between which tracks a dragged one would stand.
struct DropPlace {
  uint32_t beside = 0;  ///< index of Scene::nodes: another of its group
  bool below = false;   ///< it, else above it
  float y = 0;          ///< of the border, in pixels below the top of the rows
};

/// Where the dragged track would go among the visible tracks of its group. None: it stays where it
/// is.
std::optional<DropPlace> drop_place(Scene const& scene, Drag const& drag, Layout const& layout);
/// Lets it go there.
void drop_track(ViewState& state, Scene const& scene, Layout const& layout);
/// How far the rows scroll while the mouse is at their upper or lower edge, in pixels; 0: they do
/// not.
float drag_scroll(Drag const& drag, Layout const& layout, float seconds);
/// The line where it would stand, and its name at the mouse.
void draw_track_drag(ImDrawList& list, Scene const& scene, ViewState const& state,
                     Layout const& layout, Canvas canvas);

}  // namespace stepscope::viewer
