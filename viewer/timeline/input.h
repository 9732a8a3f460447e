// What the mouse and the keys do to the timeline, as a function of plain values: ImGui is read in
// timeline.cpp, not here.
#pragma once

#include "viewer/timeline/layout.h"

namespace stepscope::viewer {

/// One frame of input over the timeline; pixels relative to the rows' top left.
struct TimelineInput {
  float x = 0, y = 0;    ///< mouse; x < 0 over the gutter, y < 0 over the ruler
  bool hovered = false;  ///< the mouse is over the timeline
  float wheel = 0, wheel_x = 0;
  bool ctrl = false, shift = false;
  bool pressed = false, released = false, double_clicked = false;
  bool dragging = false;  ///< moved past the click threshold with the button down
  float dx = 0, dy = 0;   ///< moved since the last frame
  float zoom = 0;         ///< −1…1: W and S held
  float pan = 0;          ///< −1…1: A and D held
  float scroll = 0;       ///< −1…1: up and down held
  int step = 0;           ///< 1 or −1: to the event after or before the selected one
  float seconds = 0;      ///< since the last frame
};

/// True when anything may have changed.
bool apply_input(TimelineInput const& input, Scene const& scene, Layout const& layout,
                 ViewState& state);

}  // namespace stepscope::viewer
