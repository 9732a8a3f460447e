// The tracks of two runs, one above the other. A line with the base's name is above, one with the
// new run's between them: there lines join the steps of both. The legend of the colours by change
// is below.
#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <imgui.h>

#include "trace/base/format.h"
#include "viewer/panels/compared/compared_runs.h"
#include "viewer/timeline/draw.h"
#include "viewer/timeline/timeline.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

constexpr float kBand = 27;  ///< height of a line with a run's name, at scale 1
/// Lines that join steps are at least so far apart, at scale 1.
constexpr float kLinkGap = 7;
/// Neither of both gets less of the height.
constexpr float kLeastShare = 0.15F;

char const* side_name(RunSide side) { return side == RunSide::kBase ? "Base" : "New"; }

/// What the times of both have in common.
std::string alignment_words(RunPair& pair) {
  StepAlignment const& alignment = pair.alignment();
  if (alignment.by == StepAlignment::By::kNothing || !pair.aligned())
    return "The first events are at the same place. " + why_no_pairs(pair);
  auto const& step = alignment.pairs[*pair.aligned()];
  if (alignment.by == StepAlignment::By::kNumber)
    return fmt::format("Step {} begins at the same place", step.base_number);
  return fmt::format(
      "Step {} and step {} begin at the same place: no number in common, taken in their order",
      step.base_number, step.candidate_number);
}

/// The run's name, left of what is drawn; a click brings it to the front. Background of the whole
/// band.
void band_name(RunPair& pair, RunSide side, ImVec2 corner, float width, Theme theme) {
  Surface const& s = surface(theme);
  float const scale = ui_scale();
  ImDrawList& list = *ImGui::GetWindowDrawList();

  bool const in_front = pair.front_side() == side;
  ImVec2 const high(corner.x + width, corner.y + kBand * scale);
  list.AddRectFilled(corner, high, s.header);
  list.AddRectFilled(ImVec2(corner.x, high.y - 1), high, s.line_strong);
  if (in_front) list.AddRectFilled(corner, ImVec2(corner.x + 4 * scale, high.y), s.accent);

  ImGui::SetCursorScreenPos(corner);
  ImGui::PushID(static_cast<int>(side));
  if (ImGui::InvisibleButton(
          "side", ImVec2(std::max(std::min(gutter() * scale, width), 1.0F), kBand * scale)))
    pair.bring_to_front(side);
  Scene const& scene = pair.view(side).scene;
  std::string const path =
      printable_name(pair.path(side).empty() ? scene.run.name : pair.path(side));
  hint(fmt::format("{}: {}\n{}", side_name(side), path,
                   in_front ? "The panels show this run" : "Click to see this run in the panels"));
  ImGui::PopID();

  float const top = std::round(corner.y + (kBand * scale - ImGui::GetFontSize()) / 2);
  float x = corner.x + 10 * scale;
  push_bold();
  draw_text(list, ImVec2(x, top), in_front ? s.accent : s.text, side_name(side));
  x += ImGui::CalcTextSize("Base").x + 8 * scale;
  pop_bold();
  draw_text(list, ImVec2(x, top), s.text,
            fit(printable_name(scene.run.name), corner.x + (gutter() - 8) * scale - x));
}

/// How both are put beside each other, and what a person can change of that.
void band_tools(RunPair& pair, WindowRequests* requests, ImVec2 corner, float width, Theme theme) {
  float const scale = ui_scale();
  float const left = corner.x + (gutter() + 8) * scale;
  float const padding = 2 * ImGui::GetStyle().FramePadding.x;
  char const* const close = "Close the comparison";
  char const* const colour = "Colour by change";
  float tools = ImGui::CalcTextSize(colour).x + ImGui::GetFontSize() + padding + 26 * scale;
  if (requests != nullptr) tools += ImGui::CalcTextSize(close).x + padding + 10 * scale;

  float const at = std::max(corner.x + width - tools, left);
  float const top = std::round(corner.y + (kBand * scale - ImGui::GetFontSize()) / 2);
  draw_text(*ImGui::GetWindowDrawList(), ImVec2(left, top), surface(theme).text_dim,
            fit(alignment_words(pair), at - left - 10 * scale));

  ImGui::SetCursorScreenPos(ImVec2(at, std::round(corner.y + 3 * scale)));
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(6 * scale, 2 * scale));
  ImGui::PushStyleColor(ImGuiCol_FrameBg, surface(theme).background);
  ImGui::Checkbox(colour, &pair.coloured);
  ImGui::PopStyleColor();
  hint("Kernels and collectives by how much longer or shorter a call takes in the new run");

  if (requests != nullptr) {
    ImGui::SameLine(0, 10 * scale);
    if (ImGui::Button(close)) requests->close_comparison = true;
  }
  ImGui::PopStyleVar();
}

void draw_links(RunPair const& pair, TimeWindow base, ImVec2 low, ImVec2 high, Theme theme) {
  Surface const& s = surface(theme);
  float const scale = ui_scale();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.PushClipRect(low, high, true);
  for (StepLink const& link :
       step_links(pair.alignment(), pair.aligned(), base, high.x - low.x, kLinkGap * scale)) {
    ImVec2 const from(std::round(low.x + link.base_x) + 0.5F, low.y);
    ImVec2 const to(std::round(low.x + link.candidate_x) + 0.5F, high.y);
    if (!link.is_aligned) {
      list.AddLine(from, to, with_alpha(s.text, 0.30F), std::max(scale, 1.0F));
      continue;
    }

    list.AddLine(from, to, s.accent, 2 * scale);
    auto const& step = pair.alignment().pairs[link.pair];
    std::string const words =
        step.base_number == step.candidate_number
            ? fmt::format("step {}", step.base_number)
            : fmt::format("steps {} and {}", step.base_number, step.candidate_number);
    ImVec2 const size = ImGui::CalcTextSize(words.c_str());
    ImVec2 const at(std::round(to.x + 5 * scale), std::round((low.y + high.y - size.y) / 2));
    list.AddRectFilled(ImVec2(at.x - 3 * scale, at.y - scale),
                       ImVec2(at.x + size.x + 3 * scale, at.y + size.y + scale), s.header,
                       3 * scale);
    draw_text(list, at, s.accent, words);
  }
  list.PopClipRect();
}

/// Between both: dragging it gives one of them more room.
void band_links(RunPair& pair, ImVec2 corner, float width, float room, Theme theme) {
  float const scale = ui_scale();
  ImVec2 const low(corner.x + gutter() * scale, corner.y);
  ImVec2 const high(corner.x + width, corner.y + kBand * scale - 1);
  draw_links(pair, pair.view(RunSide::kBase).state.window, low, high, theme);

  ImGui::SetCursorScreenPos(low);
  ImGui::InvisibleButton("share", ImVec2(std::max(high.x - low.x, 1.0F), kBand * scale));
  if (ImGui::IsItemHovered() || ImGui::IsItemActive())
    ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeNS);
  if (ImGui::IsItemActive()) pair.share += ImGui::GetIO().MouseDelta.y / std::max(room, 1.0F);
  pair.share = std::clamp(pair.share, kLeastShare, 1 - kLeastShare);
}

/// The rows of one of both. Returns their height at scale 1.
float rows_of_side(RunPair& pair, RunSide side, PathLine const* path, ImVec2 corner, ImVec2 size) {
  RunPair::View const shown = pair.view(side);
  ImGui::SetCursorScreenPos(corner);
  ImGui::BeginChild(side == RunSide::kBase ? "base rows" : "new rows", size, false,
                    ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoScrollbar);

  float const height = timeline(
      shown.scene, shown.state, path,
      {.marks = pair.marks(), .has_legend = side == RunSide::kNew, .has_keys = pair.led() == side});
  // The click has just made the rows active, which else blocks that they are hovered.
  ImGuiHoveredFlags const hovered =
      ImGuiHoveredFlags_ChildWindows | ImGuiHoveredFlags_AllowWhenBlockedByActiveItem;
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left) && ImGui::IsWindowHovered(hovered))
    pair.bring_to_front(side);

  ImGui::EndChild();
  return height;
}

/// On whose rows the mouse is; a drag stays where it began. `y`: of the mouse, `above`: what the
/// base has of `height`.
std::optional<RunSide> pointed_side(RunPair& pair, float y, float above, float height) {
  for (RunSide const side : {RunSide::kBase, RunSide::kNew})
    if (pair.view(side).state.drag.mode != Drag::Mode::kNone) return side;
  if (!ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows) || y < 0 || y >= height)
    return std::nullopt;
  return y < above ? RunSide::kBase : RunSide::kNew;
}

}  // namespace

float compared_timelines(RunPair& pair, PathLine const* base_path, PathLine const* candidate_path,
                         WindowRequests* requests) {
  float const scale = ui_scale();
  ImVec2 corner = ImGui::GetCursorScreenPos();
  ImVec2 const size = ImGui::GetContentRegionAvail();
  Theme const theme = pair.front().state.theme;

  float const room = std::max(size.y - (2 * kBand + kLegend) * scale, 2.0F);
  float const above = std::max(std::round(room * pair.share), 1.0F);
  float const mouse = ImGui::GetIO().MousePos.y - corner.y;
  pair.point_at(pointed_side(pair, mouse, kBand * scale + above, size.y));

  band_name(pair, RunSide::kBase, corner, size.x, theme);
  band_tools(pair, requests, corner, size.x, theme);
  corner.y += kBand * scale;
  float const base_rows =
      rows_of_side(pair, RunSide::kBase, base_path, corner, ImVec2(size.x, above));

  corner.y += above;
  pair.follow();
  band_name(pair, RunSide::kNew, corner, size.x, theme);
  band_links(pair, corner, size.x, room, theme);
  corner.y += kBand * scale;
  float const candidate_rows =
      rows_of_side(pair, RunSide::kNew, candidate_path, corner,
                   ImVec2(size.x, std::max(room - above + kLegend * scale, 1.0F)));

  return pair.front_side() == RunSide::kBase ? base_rows : candidate_rows;
}

float compared_rows_height(RunPair const& pair, float rows_height) {
  float const share = pair.front_side() == RunSide::kBase ? pair.share : 1 - pair.share;
  return std::max((rows_height - 2 * kBand) * share - kRuler, 40.0F);
}

}  // namespace stepscope::viewer
