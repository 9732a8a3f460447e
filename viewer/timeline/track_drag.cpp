#include "viewer/timeline/track_drag.h"

#include <algorithm>
#include <string>
#include <vector>

#include "viewer/scene/track_choice.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

/// At the edge, in pixels at scale 1: half a rank's row.
constexpr float kEdge = 12;
/// Pixels a second at scale 1: the rows stay readable.
constexpr float kEdgeSpeed = 500;

/// What a track of the group takes of the screen, with all that is open below it.
struct DropExtent {
  uint32_t node = 0;
  float y0 = 0, y1 = 0;
};

/// The track of the dragged one's group that a node belongs to.
std::optional<uint32_t> member_around(Scene const& scene, std::optional<uint32_t> group,
                                      uint32_t node) {
  uint32_t const first = group ? *group + 1 : 0;
  uint32_t const last =
      group ? scene.nodes[*group].subtree_end : static_cast<uint32_t>(scene.nodes.size());
  if (node < first || node >= last) return std::nullopt;
  uint32_t member = first;
  while (scene.nodes[member].subtree_end <= node) member = scene.nodes[member].subtree_end;
  return member;
}

std::vector<DropExtent> drop_extents(Scene const& scene, Drag const& drag, Layout const& layout) {
  std::vector<DropExtent> extents;
  auto const group = drag.pinned ? std::nullopt : parent_of(scene, drag.node);

  for (Row const& row : layout.rows) {
    if (row.pinned != drag.pinned) continue;
    if (drag.pinned) {
      extents.push_back({row.node, row.y0, std::min(row.y1, layout.pinned_height)});
      continue;
    }

    bool const goes_on = !extents.empty() && row.node > extents.back().node &&
                         row.node < scene.nodes[extents.back().node].subtree_end;
    auto const member =
        goes_on ? std::optional(extents.back().node) : member_around(scene, group, row.node);
    if (!member) continue;
    if (extents.empty() || extents.back().node != *member)
      extents.push_back({*member, row.y0, row.y1});
    extents.back().y1 = row.y1;
  }

  // The first may begin above what can be seen.
  if (!extents.empty())
    extents.front().y0 = std::max(extents.front().y0, layout.top_of(drag.pinned));
  return extents;
}

}  // namespace

std::optional<DropPlace> drop_place(Scene const& scene, Drag const& drag, Layout const& layout) {
  if (drag.node >= scene.nodes.size()) return std::nullopt;
  std::vector<DropExtent> const extents = drop_extents(scene, drag, layout);
  if (extents.empty()) return std::nullopt;

  auto const next = std::find_if(extents.begin(), extents.end(), [&](DropExtent const& extent) {
    return drag.y < (extent.y0 + extent.y1) / 2;
  });

  bool const is_last = next == extents.end();
  // Next to itself is where it stands.
  bool const is_here = (!is_last && next->node == drag.node) ||
                       (next != extents.begin() && (next - 1)->node == drag.node);
  if (is_here) return std::nullopt;
  if (is_last) return DropPlace{extents.back().node, true, extents.back().y1};
  return DropPlace{next->node, false, next->y0};
}

void drop_track(ViewState& state, Scene const& scene, Layout const& layout) {
  auto const place = drop_place(scene, state.drag, layout);
  if (!place) return;
  if (state.drag.pinned) {
    move_pinned_to(state, scene, state.drag.node, place->beside, place->below);
  } else {
    move_track_to(state, scene, state.drag.node, place->beside, place->below);
  }
}

float drag_scroll(Drag const& drag, Layout const& layout, float seconds) {
  if (drag.pinned) return 0;
  float const scale = layout.viewport.scale;
  if (drag.y < layout.pinned_height + kEdge * scale) return -kEdgeSpeed * scale * seconds;
  if (drag.y > layout.viewport.height - kEdge * scale) return kEdgeSpeed * scale * seconds;
  return 0;
}

void draw_track_drag(ImDrawList& list, Scene const& scene, ViewState const& state,
                     Layout const& layout, Canvas canvas) {
  Drag const& drag = state.drag;
  if (drag.mode != Drag::Mode::kTrack || !drag.is_moving || drag.node >= scene.nodes.size()) return;

  Surface const& s = surface(state.theme);
  float const scale = canvas.scale;
  float const left = canvas.origin.x - gutter() * scale;
  float const right = canvas.origin.x + layout.viewport.width;
  list.PushClipRect(ImVec2(left, canvas.origin.y),
                    ImVec2(right, canvas.origin.y + layout.viewport.height), true);

  if (auto const place = drop_place(scene, drag, layout)) {
    float const y =
        canvas.origin.y +
        std::clamp(place->y, 2 * scale, std::max(layout.viewport.height - 2 * scale, 2 * scale));
    list.AddRectFilled(ImVec2(left, y - scale), ImVec2(right, y + scale), s.accent);
    list.AddCircleFilled(ImVec2(left + 5 * scale, y), 4 * scale, s.accent);
  }

  std::string const label = fit(scene.nodes[drag.node].label, (gutter() - 40) * scale);
  ImVec2 const at(left + 22 * scale, canvas.origin.y + drag.y + 8 * scale);
  ImVec2 const size = ImGui::CalcTextSize(label.c_str());
  float const pad = 5 * scale;
  list.AddRectFilled(ImVec2(at.x - pad, at.y - pad / 2),
                     ImVec2(at.x + size.x + pad, at.y + size.y + pad / 2), s.line_strong,
                     3 * scale);
  draw_text(list, at, s.text, label);
  list.PopClipRect();
}

}  // namespace stepscope::viewer
