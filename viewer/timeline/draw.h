// Paints a Layout. Decides nothing: where things are and which they are, layout has said.
#pragma once

#include <span>
#include <string>

#include <imgui.h>

#include "viewer/timeline/layout.h"

namespace stepscope::viewer {

/// Sizes around the rows at scale 1.
inline constexpr float kRuler = 26, kLegend = 26;
/// The room of the names of rows, left of the timeline: its bounds, and its width in this frame, at
/// scale 1.
inline constexpr float kLeastGutter = 236, kMostGutter = 400;
float gutter();
/// For this frame: what the longest name of these runs needs with its note, but no more than a
/// quarter of `width` pixels.
void fit_gutter(std::span<Scene const* const> scenes, float width);

/// Where the rows' area lies on the screen, in pixels.
struct Canvas {
  ImVec2 origin;  ///< top left of the rows, right of the gutter
  float scale = 1;
};

void draw_rows(ImDrawList& list, Scene const& scene, ViewState const& state, Layout const& layout,
               Canvas canvas);
void draw_gutter(ImDrawList& list, Scene const& scene, ViewState const& state, Layout const& layout,
                 Canvas canvas);
void draw_ruler(ImDrawList& list, ViewState const& state, Layout const& layout, Canvas canvas);
/// How far the triangle or the pin before a label is indented, at scale 1.
float label_indent(Node const& node, bool pinned);
/// Between that and the label, and between the label and its note, at scale 1.
inline constexpr float kBeforeLabel = 14, kBeforeNote = 18;
/// What stands beside a row.
struct RowWords {
  float x = 0;              ///< where the label begins, right of the gutter's edge, in pixels
  std::string label, note;  ///< as far as there is room; of a note all or nothing
  std::string whole_note;   ///< the note whether there is room or not
  bool is_cut = false;      ///< there is more: the node's own label, whole_note
};
RowWords row_words(Scene const& scene, Row const& row, float scale);
/// The critical path: a line below the events that it goes through.
void draw_path(ImDrawList& list, ViewState const& state, Layout const& layout, Canvas canvas);
/// Predicted events and steps: as the recorded ones, translucent with an outline.
void draw_ghosts(ImDrawList& list, ViewState const& state, GhostTracks const& ghosts,
                 Layout const& layout, Canvas canvas);
/// What is predicted, beside each ghost track.
void draw_ghost_labels(ImDrawList& list, ViewState const& state, GhostTracks const& ghosts,
                       Layout const& layout, Canvas canvas);
/// Range, evidence, selection, arrows: what lies over the rows.
void draw_overlays(ImDrawList& list, Scene const& scene, ViewState const& state,
                   Layout const& layout, Canvas canvas);
/// A bar in the colour of a change; what only one of both runs has is pale with a solid foot.
void mark_rectangle(ImDrawList& list, ImVec2 low, ImVec2 high, ChangeMark mark, Theme theme,
                    float alpha);
/// The colours that occur in the run, in words.
void draw_legend(ImDrawList& list, Scene const& scene, ViewState const& state, ImVec2 at,
                 float width, float scale);

}  // namespace stepscope::viewer
