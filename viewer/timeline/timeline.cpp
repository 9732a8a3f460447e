#include "viewer/timeline/timeline.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <imgui.h>

#include "trace/base/format.h"
#include "viewer/describe.h"
#include "viewer/far/far_layout.h"
#include "viewer/panels/panels.h"
#include "viewer/text.h"
#include "viewer/timeline/draw.h"
#include "viewer/timeline/input.h"
#include "viewer/widgets.h"

namespace stepscope::viewer {
namespace {

TimelineInput read_input(ImVec2 origin, bool hovered, bool active) {
  ImGuiIO const& io = ImGui::GetIO();
  TimelineInput input;
  input.x = io.MousePos.x - origin.x;
  input.y = io.MousePos.y - origin.y;
  input.hovered = hovered;
  input.wheel = io.MouseWheel;
  input.wheel_x = io.MouseWheelH;
  input.ctrl = io.KeyCtrl;
  input.shift = io.KeyShift;
  input.pressed = ImGui::IsItemActivated();
  input.released = ImGui::IsItemDeactivated();
  input.double_clicked = hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
  float const moved = std::max(std::abs(ImGui::GetMouseDragDelta(ImGuiMouseButton_Left).x),
                               std::abs(ImGui::GetMouseDragDelta(ImGuiMouseButton_Left).y));
  input.dragging = (active || input.released) && moved > 0;
  input.dx = io.MouseDelta.x;
  input.dy = io.MouseDelta.y;
  input.seconds = io.DeltaTime;
  if (io.WantTextInput || io.KeyCtrl) return input;
  input.zoom = static_cast<float>(key_down(Key::kW)) - static_cast<float>(key_down(Key::kS));
  input.pan = static_cast<float>(key_down(Key::kD) || key_down(Key::kRight)) -
              static_cast<float>(key_down(Key::kA) || key_down(Key::kLeft));
  return input;
}

void tooltip(Scene const& scene, ViewState const& state, Layout const& layout, Hit const& hit) {
  if (!hit.item) return;
  Item const& item = layout.items[*hit.item];
  std::vector<std::string> const lines = describe_item(scene, layout.rows[hit.row], item);
  begin_tooltip();
  ImGui::PushTextWrapPos(ImGui::GetFontSize() * 36);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i == 0) {
      heading(lines[i]);
    } else {
      text_coloured(lines[i], surface(state.theme).text);
    }
  }
  ImGui::PopTextWrapPos();
  end_tooltip();
}

/// A hairline with the time at the mouse.
void cursor_line(ImDrawList& list, ViewState const& state, Layout const& layout, Canvas canvas, float x) {
  Surface const& s = surface(state.theme);
  float const at = canvas.origin.x + std::floor(x);
  list.AddRectFilled(ImVec2(at, canvas.origin.y), ImVec2(at + 1, canvas.origin.y + layout.viewport.height),
                     with_alpha(s.text, 0.25F));
  double const pixel = layout.window.span() / static_cast<double>(layout.viewport.width);
  std::string const words = format_time(layout.time_at(x), pixel);
  ImVec2 const size = ImGui::CalcTextSize(words.c_str());
  float const pad = 5 * canvas.scale;
  float const left = std::clamp(at - size.x / 2, canvas.origin.x + pad, canvas.origin.x + layout.viewport.width - size.x - pad);
  float const top = canvas.origin.y - kRuler * canvas.scale + 3 * canvas.scale;
  list.AddRectFilled(ImVec2(left - pad, top), ImVec2(left + size.x + pad, canvas.origin.y - 3 * canvas.scale), s.line_strong,
                     3 * canvas.scale);
  draw_text(list, ImVec2(left, std::round((top + canvas.origin.y - 3 * canvas.scale - size.y) / 2)), s.text, words);
}

}  // namespace

float timeline(Scene const& scene, ViewState& state, PathLine const* path) {
  float const scale = ui_scale();
  ImVec2 const corner = ImGui::GetCursorScreenPos();
  ImVec2 const size = ImGui::GetContentRegionAvail();
  Canvas const canvas{ImVec2(corner.x + kGutter * scale, corner.y + kRuler * scale), scale};
  Viewport const viewport{std::max(size.x - kGutter * scale, 1.0F), std::max(size.y - (kRuler + kLegend) * scale, 1.0F), scale};
  ImGui::InvisibleButton("timeline", ImVec2(std::max(size.x, 1.0F), std::max(size.y - kLegend * scale, 1.0F)));
  bool const hovered = ImGui::IsItemHovered();
  bool const active = ImGui::IsItemActive();
  bool const menu_asked = hovered && ImGui::IsMouseClicked(ImGuiMouseButton_Right);
  Layout layout = lay_out(scene, state, viewport, path);
  if (apply_input(read_input(canvas.origin, hovered, active), scene, layout, state))
    layout = lay_out(scene, state, viewport, path);
  if (scene.far) scene.far->tiles().want(wanted_tiles(scene, state, layout));
  ImDrawList& list = *ImGui::GetWindowDrawList();
  draw_rows(list, scene, state, layout, canvas);
  draw_gutter(list, scene, state, layout, canvas);
  draw_ruler(list, state, layout, canvas);
  draw_path(list, state, layout, canvas);
  draw_overlays(list, scene, state, layout, canvas);
  draw_flash(list, state, layout, canvas.origin);
  float const x = ImGui::GetIO().MousePos.x - canvas.origin.x;
  float const y = ImGui::GetIO().MousePos.y - canvas.origin.y;
  note_flags(list, state, layout, canvas.origin, hovered);
  ImVec2 const legend(corner.x, corner.y + size.y - kLegend * scale);
  float const taken = hidden_tracks(scene, state, legend);
  draw_legend(list, scene, state, ImVec2(legend.x + taken, legend.y), std::max(size.x - taken, 1.0F), scale);
  track_filter(state, corner);
  state.panels.pointed = hovered && x >= 0 ? std::optional(layout.time_at(x)) : std::nullopt;
  if (auto const hit = menu_asked && x < 0 ? hit_test(layout, x, y) : std::nullopt)
    open_track_menu(state, layout.rows[hit->row].node);
  track_menu(scene, state);
  if (hovered && x >= 0) cursor_line(list, state, layout, canvas, x);
  if (hovered && !active && x >= 0)
    if (auto const hit = hit_test(layout, x, y)) tooltip(scene, state, layout, *hit);
  if (scene.events == 0) {
    ImGui::SetCursorScreenPos(ImVec2(canvas.origin.x + 16 * scale, canvas.origin.y + 16 * scale));
    text_wrapped("This run has no events. Record it again with the steps that you want to see inside the traced part.",
                 surface(state.theme).text_dim);
  }
  return viewport.height / scale;
}

}  // namespace stepscope::viewer
