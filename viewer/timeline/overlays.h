// What lies over the timeline beside its rows: notes, the menu of a track, the filter, and what the
// colours of a comparison mean.
#pragma once

#include <imgui.h>

#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"
#include "viewer/timeline/layout.h"

namespace stepscope::viewer {

/// A flag on the ruler and a line a note; its text where the mouse is. `origin`: of the rows.
void note_flags(ImDrawList& list, ViewState& state, Layout const& layout, ImVec2 origin,
                bool hovered);
/// Opens the menu of a track; the menu itself, in the same window.
void open_track_menu(ViewState& state, uint32_t node);
void track_menu(Scene const& scene, ViewState& state);
/// The box above the tracks; `corner`: of the ruler.
void track_filter(ViewState& state, ImVec2 corner);
/// "3 tracks hidden", with a button that shows them; `corner`: of the legend. Returns the width
/// that it takes in pixels.
float hidden_tracks(Scene const& scene, ViewState& state, ImVec2 corner);
/// What the colours of a comparison mean, in the line of the legend.
void change_legend(ImDrawList& list, Theme theme, ImVec2 at, float width);
/// Highlights the row that a person went to; `origin`: of the rows.
void draw_flash(ImDrawList& list, ViewState const& state, Layout const& layout, ImVec2 origin);

}  // namespace stepscope::viewer
