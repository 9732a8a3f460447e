#include "viewer/panels/step_comparison.h"

#include <cmath>

#include <fmt/format.h>
#include <imgui.h>

#include "trace/base/format.h"
#include "viewer/queries/step_comparison.h"
#include "viewer/timeline/describe.h"
#include "viewer/widgets/hatch.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

/// Changes of less than this share of the median step's length are within what steps differ by
/// anyway: not coloured.
constexpr double kColouredShare = 0.01;
/// From this share on a step stands out among its neighbours in the strip.
constexpr double kStrongShare = 0.10;

uint32_t change_colour(int64_t change_ns, int64_t median_ns, Theme theme) {
  Surface const& s = surface(theme);
  double const share =
      static_cast<double>(change_ns) / static_cast<double>(std::max<int64_t>(median_ns, 1));
  if (std::abs(share) < kColouredShare) return s.text_dim;
  if (share < 0) return s.accent;
  return share < kStrongShare ? s.warning : s.critical;
}

std::string signed_duration(int64_t ns) {
  if (ns == 0) return "0";
  return (ns > 0 ? "+" : "−") + base::format_duration(std::abs(ns));
}

void part_row(std::string_view name, int64_t step_ns, int64_t median_ns, int64_t length_ns,
              Theme theme) {
  text(name);
  ImGui::TableNextColumn();
  text_right(base::format_duration(step_ns), surface(theme).text);
  ImGui::TableNextColumn();
  text_right(base::format_duration(median_ns), surface(theme).text);
  ImGui::TableNextColumn();
  text_right(signed_duration(step_ns - median_ns),
             change_colour(step_ns - median_ns, length_ns, theme));
}

}  // namespace

bool step_comparison(Scene const& scene, ViewState& state) {
  auto const compared =
      state.panels.compared ? compare_with_median(scene, *state.panels.compared) : std::nullopt;
  if (!compared) return false;

  heading(fmt::format("Step {} compared with the median step {}", compared->step->step->step,
                      compared->median->step->step));
  ImGui::SameLine();
  text_coloured(describe(scene, compared->step->step->ref), surface(state.theme).text_dim);
  ImGui::SameLine();
  if (ImGui::SmallButton("Close")) state.panels.compared.reset();
  hint("Esc");

  ImGuiTableFlags const flags =
      ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY | ImGuiTableFlags_SizingFixedFit;
  if (!ImGui::BeginTable("step comparison", 4, flags)) return true;
  ImGui::TableSetupScrollFreeze(0, 1);
  float const column = 96 * ui_scale();
  ImGui::TableSetupColumn("Part of the step", ImGuiTableColumnFlags_WidthFixed, 2.4F * column);
  ImGui::TableSetupColumn("This step", ImGuiTableColumnFlags_WidthFixed, column);
  ImGui::TableSetupColumn("Median step", ImGuiTableColumnFlags_WidthFixed, column);
  ImGui::TableSetupColumn("Difference", ImGuiTableColumnFlags_WidthFixed, column);
  header_row(1);

  int64_t const length = compared->median->when.length();
  for (StepComparison::Part const& part : compared->parts) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    part_swatch(part.paint, state.theme);
    part_row(paint_name(part.paint), part.step_ns, part.median_ns, length, state.theme);
  }

  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  push_bold();
  part_row("Step", compared->step->when.length(), length, length, state.theme);
  pop_bold();
  ImGui::EndTable();
  return true;
}

}  // namespace stepscope::viewer
