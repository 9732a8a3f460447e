// Paints the ghost tracks of a Layout.
#include <algorithm>
#include <cmath>

#include "viewer/timeline/draw.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

/// Opacity of a predicted bar, and of the line around it.
constexpr float kGhostFill = 0.30F, kGhostLine = 0.85F;
/// Narrower ghosts have no outline, and narrower ones than the second no name; pixels at scale 1.
constexpr float kLeastOutlined = 4, kLeastNamed = 34;

void draw_ghost(ImDrawList& list, ViewState const& state, GhostTracks const& ghosts,
                Layout const& layout, GhostItem const& item, Canvas canvas) {
  float const x0 = canvas.origin.x + std::floor(item.x0);
  float const x1 = std::max(canvas.origin.x + std::floor(item.x1), x0 + 1);
  ImVec2 const low(x0, canvas.origin.y + item.y0);
  ImVec2 const high(x1, canvas.origin.y + item.y1);
  uint32_t const colour = paint_colour(item.paint, state.theme, item.shade);
  float const share = item.count > 1 ? 0.30F + 0.70F * item.fill : 1;
  list.AddRectFilled(low, high, with_alpha(colour, kGhostFill * share));
  if (item.count > 1 || x1 - x0 < kLeastOutlined * canvas.scale) {
    // A foot, so that a mark a pixel wide is seen, too.
    list.AddRectFilled(ImVec2(low.x, high.y - std::round(3 * canvas.scale)), high,
                       with_alpha(colour, kGhostLine * share));
    return;
  }

  list.AddRect(low, high, with_alpha(colour, kGhostLine));
  GhostTrack const* const track = ghosts.of_node(layout.rows[item.row].node);
  if (track == nullptr || x1 - x0 < kLeastNamed * canvas.scale) return;
  float const pad = 4 * canvas.scale;
  std::string const name =
      printable_name(short_name(track->trace().name(track->track->rows[item.index])), 160);
  draw_text(list, ImVec2(low.x + pad, std::round((low.y + high.y - ImGui::GetFontSize()) / 2)),
            surface(state.theme).text, fit_bar(name, x1 - x0 - 2 * pad));
}

}  // namespace

void draw_ghosts(ImDrawList& list, ViewState const& state, GhostTracks const& ghosts,
                 Layout const& layout, Canvas canvas) {
  ImVec2 const low = canvas.origin;
  for (bool const pinned : {false, true}) {
    float const bottom = low.y + (pinned ? layout.pinned_height : layout.viewport.height);
    list.PushClipRect(ImVec2(low.x, low.y + layout.top_of(pinned)),
                      ImVec2(low.x + layout.viewport.width, bottom), true);

    for (GhostItem const& item : layout.ghosts)
      if (layout.rows[item.row].pinned == pinned)
        draw_ghost(list, state, ghosts, layout, item, canvas);
    for (GhostStepLine const& line : layout.ghost_steps) {
      if (line.pinned != pinned) continue;
      float const x = low.x + std::floor(line.x);
      list.AddRectFilled(ImVec2(x, low.y + line.y0 - 1), ImVec2(x + 1, low.y + line.y1 + 1),
                         surface(state.theme).accent);
    }
    list.PopClipRect();
  }
}

void draw_ghost_labels(ImDrawList& list, ViewState const& state, GhostTracks const& ghosts,
                       Layout const& layout, Canvas canvas) {
  constexpr float kIndent = 36;
  float const left = canvas.origin.x - gutter() * canvas.scale;
  for (bool const pinned : {false, true}) {
    float const bottom = pinned ? layout.pinned_height : layout.viewport.height;
    list.PushClipRect(ImVec2(left, canvas.origin.y + layout.top_of(pinned)),
                      ImVec2(canvas.origin.x, canvas.origin.y + bottom), true);

    for (Row const& row : layout.rows) {
      if (row.pinned != pinned || !has_ghost(state, row.node)) continue;
      auto const [y0, y1] = ghost_extent(row, canvas.scale);
      std::string const words =
          fit("predicted: " + ghosts.change, (gutter() - kIndent - 8) * canvas.scale);
      float const top = canvas.origin.y + std::round((y0 + y1 - ImGui::GetFontSize()) / 2);
      draw_text(list, ImVec2(left + kIndent * canvas.scale, top), surface(state.theme).accent,
                words);
    }
    list.PopClipRect();
  }
}

}  // namespace stepscope::viewer
