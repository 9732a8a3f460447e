#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <imgui.h>

#include "trace/base/format.h"
#include "viewer/interaction/track_finder.h"
#include "viewer/panels/panels.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"
#include "viewer/widgets/writing_box.h"

namespace stepscope::viewer {
namespace {

constexpr float kFinderWidth = 520, kFinderRows = 12;

/// The list under the box. The node that was clicked.
std::optional<uint32_t> list_of_tracks(Scene const& scene, ViewState const& state,
                                       FoundTracks const& found, bool moved) {
  std::optional<uint32_t> clicked;
  float const line = ImGui::GetFontSize() + 6 * ui_scale();
  float const rows =
      std::min(kFinderRows, static_cast<float>(std::max<size_t>(found.nodes.size(), 1)));
  ImGui::BeginChild("found", ImVec2(0, rows * (line + ImGui::GetStyle().ItemSpacing.y)));
  for (uint32_t i = 0; i < found.nodes.size(); ++i) {
    ImGui::PushID(static_cast<int>(i));
    ImVec2 const at = ImGui::GetCursorScreenPos();
    bool const is_chosen = i == state.panels.finder.chosen;
    if (ImGui::Selectable("##track", is_chosen, 0, ImVec2(0, line))) clicked = found.nodes[i];
    if (is_chosen && moved) ImGui::SetScrollHereY();
    float const room = std::max(ImGui::GetContentRegionAvail().x, 1.0F);
    Node const& node = scene.nodes[found.nodes[i]];
    draw_text(*ImGui::GetWindowDrawList(), ImVec2(at.x + 6 * ui_scale(), at.y + 3 * ui_scale()),
              surface(state.theme).text, fit(printable_name(node.path), room - 12 * ui_scale()));
    ImGui::PopID();
  }
  if (found.nodes.empty()) text_coloured("no track has this name", surface(state.theme).warning);
  ImGui::EndChild();
  return clicked;
}

}  // namespace

void track_finder(Scene const& scene, ViewState& state, float rows_height) {
  TrackFinder& finder = state.panels.finder;
  if (!finder.open) return;
  ImVec2 const screen = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos(ImVec2(screen.x / 2, screen.y * 0.12F), ImGuiCond_Always,
                          ImVec2(0.5F, 0));
  float const width = std::min(kFinderWidth * ui_scale(), std::max(screen.x - 20, 1.0F));
  ImGui::SetNextWindowSizeConstraints(ImVec2(width, 0),
                                      ImVec2(width, std::max(screen.y * 0.8F, 1.0F)));
  ImGui::PushStyleColor(ImGuiCol_WindowBg, surface(state.theme).header);
  ImGui::PushStyleColor(ImGuiCol_FrameBg, surface(state.theme).background);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 8 * ui_scale());
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(14 * ui_scale(), 12 * ui_scale()));
  // Rows have the same colour as it has.
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1);
  ImGuiWindowFlags const flags = ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoTitleBar |
                                 ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                                 ImGuiWindowFlags_NoResize;
  ImGui::Begin("Find a track", nullptr, flags);
  // Who is asked where to go has the keyboard.
  if (ImGui::IsWindowAppearing()) ImGui::SetWindowFocus();
  bool const was_writing = ImGui::GetIO().WantTextInput;
  if (!ImGui::IsAnyItemActive()) focus_next_box();
  std::string const before = finder.text;
  writing_box("##finder", "Track: rank 3 stream 7", finder.text, ImGui::GetContentRegionAvail().x,
              256);
  if (finder.text != before) finder.chosen = 0;
  FoundTracks const found = find_tracks(scene, finder.text);
  auto const count = static_cast<uint32_t>(found.nodes.size());
  bool const down = key_pressed(Key::kDown, true) && finder.chosen + 1 < count;
  bool const up = key_pressed(Key::kUp, true) && finder.chosen > 0;
  if (down) ++finder.chosen;
  if (up) --finder.chosen;
  finder.chosen = std::min(finder.chosen, count > 0 ? count - 1 : 0U);
  auto go = list_of_tracks(scene, state, found, down || up);
  if (was_writing && key_pressed(Key::kEnter) && count > 0) go = found.nodes[finder.chosen];
  std::string const first =
      found.total > count ? fmt::format("the first {} of ", base::format_count(count)) : "";
  text_coloured(fmt::format("{}{} · Enter goes there, Esc closes", first,
                            base::format_count(found.total, "track")),
                surface(state.theme).text_dim);
  bool const left = !ImGui::IsWindowFocused(ImGuiFocusedFlags_ChildWindows) &&
                    !ImGui::IsWindowAppearing() && was_writing;
  ImGui::End();
  ImGui::PopStyleVar(3);
  ImGui::PopStyleColor(2);
  if (go) go_to_track(state, scene, *go, rows_height);
  if (go || left) finder = {};
}

}  // namespace stepscope::viewer
