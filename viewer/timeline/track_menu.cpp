// The menu of a track's label, the box that filters tracks, and the note that some are hidden: they
// lie over the timeline.
#include <algorithm>

#include <fmt/format.h>
#include <imgui.h>

#include "trace/base/format.h"
#include "viewer/scene/shown_rows.h"
#include "viewer/scene/track_choice.h"
#include "viewer/timeline/draw.h"
#include "viewer/timeline/overlays.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"
#include "viewer/widgets/writing_box.h"

namespace stepscope::viewer {
namespace {

constexpr char const* kMenuId = "track menu";
/// Width of the filter's box next to "12.3 ms shown", at scale 1.
constexpr float kFilterWidth = 112;
constexpr size_t kLongestFilter = 256;  ///< bytes

char const* plural_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kRank:
      return "ranks";
    case NodeKind::kDevice:
      return "devices";
    case NodeKind::kStream:
      return "streams";
    case NodeKind::kThread:
      return "threads";
    case NodeKind::kCounter:
      return "counters";
    case NodeKind::kMemory:
      return "memory curves";
    case NodeKind::kCommunicator:
      return "communicators";
  }
  return "";
}

void menu_items(Scene const& scene, ViewState& state, uint32_t node) {
  Node const& of = scene.nodes[node];
  text_coloured(fit(printable_name(of.label), 300 * ui_scale()), surface(state.theme).text_dim);
  ImGui::Separator();

  if (ImGui::MenuItem(is_pinned(state, scene, node) ? "Unpin" : "Pin to the top"))
    toggle_pin(state, scene, node);
  if (ImGui::MenuItem("Hide")) hide(state, scene, node);
  if (ImGui::MenuItem(fmt::format("Hide all other {}", plural_of(of.kind)).c_str()))
    hide_others(state, scene, node);

  ImGui::Separator();
  if (ImGui::MenuItem("Move up", nullptr, false, can_move(state, scene, node, -1)))
    move_track(state, scene, node, -1);
  if (ImGui::MenuItem("Move down", nullptr, false, can_move(state, scene, node, 1)))
    move_track(state, scene, node, 1);

  ImGui::Separator();
  if (ImGui::MenuItem("Close all ranks", "-")) close_all_ranks(state, scene);
  if (ImGui::MenuItem("Open all", "+")) open_all(state);
}

}  // namespace

void open_track_menu(ViewState& state, uint32_t node) {
  state.panels.track_menu = node;
  ImGui::OpenPopup(kMenuId);
}

void track_menu(Scene const& scene, ViewState& state) {
  if (!state.panels.track_menu) return;
  float const scale = ui_scale();
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(10 * scale, 8 * scale));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8 * scale, 6 * scale));

  bool const open = ImGui::BeginPopup(kMenuId);
  if (open) {
    if (*state.panels.track_menu < scene.nodes.size())
      menu_items(scene, state, *state.panels.track_menu);
    if (key_pressed(Key::kEscape)) ImGui::CloseCurrentPopup();
    ImGui::EndPopup();
  } else {
    state.panels.track_menu.reset();
  }

  ImGui::PopStyleVar(2);
}

void track_filter(ViewState& state, ImVec2 corner) {
  float const scale = ui_scale();
  std::string& filter = state.tracks.filter;
  // While there is a filter it is more than what is shown of the time.
  bool const wide = !filter.empty() || state.panels.filter;
  float const width = (wide ? gutter() - 12 : kFilterWidth) * scale;

  ImVec2 const back = ImGui::GetCursorScreenPos();
  ImGui::SetCursorScreenPos(ImVec2(corner.x + 6 * scale, corner.y + 2 * scale));
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(6 * scale, 3 * scale));
  // A window of its own: what is done in it is not done to the timeline.
  ImGui::BeginChild("filter", ImVec2(width, (kRuler - 5) * scale), false,
                    ImGuiWindowFlags_NoScrollbar);

  if (state.panels.filter && !ImGui::IsAnyItemActive()) focus_next_box();
  writing_box("##tracks", "Filter ( T )", filter, width, kLongestFilter);
  if (ImGui::IsItemActivated()) state.panels.filter = true;
  if (ImGui::IsItemDeactivated()) {
    state.panels.filter = false;
    if (key_pressed(Key::kEscape)) filter.clear();
  }

  if (!ImGui::IsItemActive() && filter.empty())
    hint("Show only the tracks with these words: rank 3, stream 7, compute");

  ImGui::EndChild();
  ImGui::PopStyleVar();
  ImGui::SetCursorScreenPos(back);
}

float hidden_tracks(Scene const& scene, ViewState& state, ImVec2 corner) {
  uint32_t const hidden = shown_rows(scene, state)->hidden;
  if (hidden == 0) return 0;

  float const scale = ui_scale();
  ImVec2 const back = ImGui::GetCursorScreenPos();
  ImGui::SetCursorScreenPos(ImVec2(corner.x + 8 * scale, corner.y + 3 * scale));
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(6 * scale, 1 * scale));
  ImGui::BeginChild("hidden", ImVec2((gutter() - 16) * scale, (kLegend - 5) * scale), false,
                    ImGuiWindowFlags_NoScrollbar);

  ImGui::AlignTextToFramePadding();
  text_coloured(base::format_count(hidden, "track") + " hidden", surface(state.theme).warning);
  ImGui::SameLine(0, 8 * scale);
  if (ImGui::Button("Show all")) show_all_tracks(state);

  ImGui::EndChild();
  ImGui::PopStyleVar();
  ImGui::SetCursorScreenPos(back);
  return gutter() * scale;
}

void draw_flash(ImDrawList& list, ViewState const& state, Layout const& layout, ImVec2 origin) {
  if (!state.panels.flash) return;
  for (Row const& row : layout.rows) {
    if (row.node != state.panels.flash->node || row.pinned) continue;

    uint32_t const colour = surface(state.theme).accent;
    float const left = origin.x - gutter() * ui_scale();
    float const top = origin.y + std::max(row.y0, layout.pinned_height);
    ImVec2 const high(origin.x + layout.viewport.width,
                      origin.y + std::min(row.y1, layout.viewport.height));

    list.AddRectFilled(ImVec2(left, top), high,
                       with_alpha(colour, 0.25F * std::min(state.panels.flash->seconds, 1.0F)));
    list.AddRectFilled(ImVec2(left, top), ImVec2(left + 4 * ui_scale(), high.y), colour);
  }
}

}  // namespace stepscope::viewer
