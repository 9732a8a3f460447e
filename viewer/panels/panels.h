// The panels: one free function each, one file each. They show the scene and change the view state, and remember nothing.
#pragma once

#include "viewer/range_statistics.h"
#include "viewer/scene.h"
#include "viewer/view_state.h"

namespace stepscope::viewer {

/// What was computed for an earlier frame and still holds; losing it costs time only.
struct Memo {
  RangeStatistics statistics;
  bool valid = false;
};

/// The line at the top: run, search, buttons.
void top_bar(Scene const& scene, ViewState& state, float rows_height);
/// A bar a step: height = duration, colours = its split. A click shows the step.
void step_strip(Scene const& scene, ViewState& state, float height);
/// The whole run, a line a device, with the window on it: drag to move.
void overview(Scene const& scene, ViewState& state, float height);
/// Findings by severity and cost; a click shows the place.
void findings(Scene const& scene, ViewState& state, float rows_height);
/// Everything known of the selection.
void details(Scene const& scene, ViewState& state, float rows_height);
/// Split and top ops of the marked range, or of what is visible.
void statistics(Scene const& scene, ViewState& state, Memo& memo);
/// Kernels of the chosen device, sortable; a click searches for the name.
void kernels(Scene const& scene, ViewState& state);
/// Allocated memory over time by purpose, of the chosen device.
void memory(Scene const& scene, ViewState& state);
/// What was recorded, by what, and how far to trust it.
void run_info(Scene const& scene, ViewState& state);
/// All keys and mouse gestures, over everything.
void help(ViewState& state);

/// A choice of the device that step strip, kernels and memory show; nothing with one device.
void device_chooser(Scene const& scene, ViewState& state);

}  // namespace stepscope::viewer
