#include "viewer/timeline/timeline.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <imgui.h>

#include "trace/base/format.h"
#include "viewer/comparison/change_marks.h"
#include "viewer/queries/ghost_tracks.h"
#include "viewer/timeline/describe.h"
#include "viewer/timeline/draw.h"
#include "viewer/timeline/input.h"
#include "viewer/timeline/mark_changes.h"
#include "viewer/timeline/overlays.h"
#include "viewer/timeline/track_drag.h"
#include "viewer/timeline/unread_rows.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

TimelineInput read_input(ImVec2 origin, bool hovered, bool active, KeyPlace keys) {
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

  bool const has_arrows = keys == KeyPlace::kTimeline && !io.WantTextInput;
  if (has_arrows && io.KeyCtrl)
    input.step = static_cast<int>(key_pressed(Key::kRight, true)) -
                 static_cast<int>(key_pressed(Key::kLeft, true));
  if (io.WantTextInput || io.KeyCtrl) return input;
  input.zoom = static_cast<float>(key_down(Key::kW)) - static_cast<float>(key_down(Key::kS));
  auto const is_down = [&](Key key) { return has_arrows && key_down(key); };
  input.pan = static_cast<float>(key_down(Key::kD) || is_down(Key::kRight)) -
              static_cast<float>(key_down(Key::kA) || is_down(Key::kLeft));
  input.scroll = static_cast<float>(is_down(Key::kDown)) - static_cast<float>(is_down(Key::kUp));
  return input;
}

void tooltip(Scene const& scene, ViewState const& state, Layout const& layout, Hit const& hit) {
  if (!hit.item) return;
  Item const& item = layout.items[*hit.item];
  std::vector<std::string> lines = describe_item(scene, layout.rows[hit.row], item);
  bool const is_compared = item.change != ChangeMark::kNone && item.change != ChangeMark::kOther;
  if (is_compared)
    lines.push_back(fmt::format("a call, new against base: {}", mark_words(item.change)));

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

void ghost_tooltip(ViewState const& state, GhostTracks const& ghosts, Layout const& layout,
                   GhostItem const& item) {
  GhostTrack const* const track = ghosts.of_node(layout.rows[item.row].node);
  if (track == nullptr) return;
  std::vector<std::string> lines = {
      fmt::format("{} predicted events", base::format_count(item.count)),
      "predicted: " + ghosts.change};
  if (item.count == 1) lines = describe_ghost(ghosts, *track, item.index);

  begin_tooltip();
  ImGui::PushTextWrapPos(ImGui::GetFontSize() * 36);
  heading(lines.front());
  for (size_t i = 1; i < lines.size(); ++i) text_coloured(lines[i], surface(state.theme).text);
  ImGui::PopTextWrapPos();
  end_tooltip();
}

/// The rest of a row's name and note that has no room next to it.
void name_tooltip(Scene const& scene, ViewState const& state, Row const& row) {
  RowWords const words = row_words(scene, row, ui_scale());
  if (!words.is_cut) return;
  Node const& node = scene.nodes[row.node];

  begin_tooltip();
  ImGui::PushTextWrapPos(ImGui::GetFontSize() * 36);
  heading(node.label);
  for (std::string const& note : {words.whole_note, row.pinned ? node.note : std::string()})
    if (!note.empty()) text_coloured(note, surface(state.theme).text);
  ImGui::PopTextWrapPos();
  end_tooltip();
}

/// A hairline with the time at the mouse.
void cursor_line(ImDrawList& list, ViewState const& state, Layout const& layout, Canvas canvas,
                 float x) {
  Surface const& s = surface(state.theme);
  float const at = canvas.origin.x + std::floor(x);
  list.AddRectFilled(ImVec2(at, canvas.origin.y),
                     ImVec2(at + 1, canvas.origin.y + layout.viewport.height),
                     with_alpha(s.text, 0.25F));

  double const pixel = layout.window.span() / static_cast<double>(layout.viewport.width);
  std::string const words = format_time(layout.time_at(x), pixel);
  ImVec2 const size = ImGui::CalcTextSize(words.c_str());
  float const pad = 5 * canvas.scale;

  float const first = canvas.origin.x + pad;
  float const left =
      std::clamp(at - size.x / 2, first,
                 std::max(canvas.origin.x + layout.viewport.width - size.x - pad, first));
  float const top = canvas.origin.y - kRuler * canvas.scale + 3 * canvas.scale;

  list.AddRectFilled(ImVec2(left - pad, top),
                     ImVec2(left + size.x + pad, canvas.origin.y - 3 * canvas.scale), s.line_strong,
                     3 * canvas.scale);
  draw_text(list, ImVec2(left, std::round((top + canvas.origin.y - 3 * canvas.scale - size.y) / 2)),
            s.text, words);
}

/// What the colours mean, next to how many tracks are hidden.
void colour_legend(Scene const& scene, ViewState& state, ImVec2 at, float width, bool by_change) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  float const taken = hidden_tracks(scene, state, at);
  ImVec2 const from(at.x + taken, at.y);
  float const room = std::max(width - taken, 1.0F);
  if (by_change) {
    change_legend(list, state.theme, from, room);
  } else {
    draw_legend(list, scene, state, from, room, ui_scale());
  }
}

/// Everything that lies in the rows' area.
void draw_timeline(Scene const& scene, ViewState const& state, Layout const& layout, Canvas canvas,
                   GhostTracks const* ghosts) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  draw_rows(list, scene, state, layout, canvas);
  if (ghosts != nullptr) draw_ghosts(list, state, *ghosts, layout, canvas);
  draw_gutter(list, scene, state, layout, canvas);
  if (ghosts != nullptr) draw_ghost_labels(list, state, *ghosts, layout, canvas);

  draw_ruler(list, state, layout, canvas);
  draw_path(list, state, layout, canvas);
  draw_overlays(list, scene, state, layout, canvas);
  draw_flash(list, state, layout, canvas.origin);
  draw_track_drag(list, scene, state, layout, canvas);
}

/// What follows the mouse: the track menu, the hairline, tooltips. `hovered`, `active`: the area.
void follow_mouse(Scene const& scene, ViewState& state, Layout const& layout, Canvas canvas,
                  GhostTracks const* ghosts, bool hovered, bool active) {
  float const x = ImGui::GetIO().MousePos.x - canvas.origin.x;
  float const y = ImGui::GetIO().MousePos.y - canvas.origin.y;
  auto const hit = hovered ? hit_test(layout, x, y) : std::nullopt;
  state.panels.pointed = hovered && x >= 0 ? std::optional(layout.time_at(x)) : std::nullopt;

  if (hit && x < 0 && ImGui::IsMouseClicked(ImGuiMouseButton_Right))
    open_track_menu(state, layout.rows[hit->row].node);
  track_menu(scene, state);

  if (hovered && x >= 0) cursor_line(*ImGui::GetWindowDrawList(), state, layout, canvas, x);
  if (!hit || active) return;
  GhostItem const* const ghost = ghosts != nullptr ? ghost_at(layout, x, y) : nullptr;
  if (ghost != nullptr && !hit->item) {
    ghost_tooltip(state, *ghosts, layout, *ghost);
  } else if (x >= 0) {
    tooltip(scene, state, layout, *hit);
  } else {
    name_tooltip(scene, state, layout.rows[hit->row]);
  }
}

void say_no_events(Theme theme, Canvas canvas) {
  float const pad = 16 * canvas.scale;
  ImGui::SetCursorScreenPos(ImVec2(canvas.origin.x + pad, canvas.origin.y + pad));
  text_wrapped(
      "This run has no events. Record it again with the steps that you want to see inside the "
      "traced part.",
      surface(theme).text_dim);
}

}  // namespace

float timeline(Scene const& scene, ViewState& state, PathLine const* path,
               TimelineLook const& look) {
  float const scale = ui_scale();
  ImVec2 const corner = ImGui::GetCursorScreenPos();
  ImVec2 const size = ImGui::GetContentRegionAvail();
  Canvas const canvas{ImVec2(corner.x + gutter() * scale, corner.y + kRuler * scale), scale};
  float const foot = look.has_legend ? kLegend * scale : 0;
  Viewport const viewport{std::max(size.x - gutter() * scale, 1.0F),
                          std::max(size.y - kRuler * scale - foot, 1.0F), scale};

  ImGui::InvisibleButton("timeline", ImVec2(std::max(size.x, 1.0F), std::max(size.y - foot, 1.0F)));
  bool const hovered = ImGui::IsItemHovered();
  bool const active = ImGui::IsItemActive();
  Layout layout = lay_out(scene, state, viewport, path, look.ghosts);
  TimelineInput input = read_input(canvas.origin, hovered, active, state.panels.keys);
  if (!look.has_keys) input.zoom = input.pan = input.scroll = 0;
  if (!look.has_keys) input.step = 0;
  if (apply_input(input, scene, layout, state))
    layout = lay_out(scene, state, viewport, path, look.ghosts);

  if (look.marks != nullptr) mark_changes(scene, *look.marks, layout);
  want_events(scene, state, layout);
  draw_timeline(scene, state, layout, canvas, look.ghosts);

  note_flags(*ImGui::GetWindowDrawList(), state, layout, canvas.origin, hovered);
  if (look.has_legend)
    colour_legend(scene, state, ImVec2(corner.x, corner.y + size.y - foot), size.x,
                  look.marks != nullptr);
  track_filter(state, corner);
  follow_mouse(scene, state, layout, canvas, look.ghosts, hovered, active);
  if (scene.events == 0) say_no_events(state.theme, canvas);
  return viewport.height / scale;
}

}  // namespace stepscope::viewer
