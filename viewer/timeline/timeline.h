// The timeline as an ImGui widget: lays out, reads input, paints, explains what is under the mouse.
#pragma once

#include "viewer/queries/path_line.h"
#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

class ChangeMarks;
struct GhostTracks;

/// How a run is drawn, alone or as one of two.
struct TimelineLook {
  ChangeMarks const* marks = nullptr;   ///< what device ops are coloured by; null: their class
  bool has_legend = true;               ///< below the rows
  bool has_keys = true;                 ///< held keys move it
  GhostTracks const* ghosts = nullptr;  ///< predicted events under the recorded ones; null: none
};

/// Fills what is left of the current window. Returns the height of the rows at scale 1 (for
/// reveal()). `path`: drawn over the rows, if it is known.
float timeline(Scene const& scene, ViewState& state, PathLine const* path,
               TimelineLook const& look = {});

}  // namespace stepscope::viewer
