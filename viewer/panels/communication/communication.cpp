#include "viewer/panels/communication/communication.h"

#include <fmt/format.h>
#include <imgui.h>

#include "trace/base/format.h"
#include "viewer/interaction/navigate.h"
#include "viewer/panels/common/panel.h"
#include "viewer/timeline/describe.h"
#include "viewer/widgets/hatch.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

Paint waits_paint(analyzer::WaitStats const& waits) {
  using enum analyzer::WaitCause;
  switch (waits.cause) {
    case kCompute:
      return Paint::kCompute;
    case kCommunication:
      return Paint::kCommunication;
    case kCopy:
      return Paint::kCopy;
    case kIdle:
      return paint_of(waits.idle);
    case kLateStart:
    case kBeforeRecording:
    case kUnknown:
      break;
  }
  return Paint::kUnexplained;
}

/// "idle: input, augment batch": what made it late.
std::string reason_of(analyzer::WaitStats const& waits) {
  std::string words = waits.cause == analyzer::WaitCause::kIdle
                          ? "idle: " + words_of(analyzer::cause_of(waits))
                          : words_of(analyzer::cause_of(waits));
  if (!waits.host_op.empty()) words += ", " + printable_name(waits.host_op, 120);
  return words;
}

void causes_table(Scene const& scene, ViewState& state) {
  heading("Who was late, and why");
  if (scene.analysis.waits.empty()) {
    empty_state("No device waited for a peer in the measured steps.", state.theme);
    return;
  }

  float const scale = ui_scale();
  int64_t const most = std::max<int64_t>(scene.analysis.waits.front().exposed_ns, 1);
  ImGuiTableFlags const flags =
      ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY | ImGuiTableFlags_SizingFixedFit;
  if (!ImGui::BeginTable("causes", 3, flags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("Late device, cause", ImGuiTableColumnFlags_WidthStretch);
  ImGui::TableSetupColumn("Exposed", ImGuiTableColumnFlags_WidthFixed, 74 * scale);
  ImGui::TableSetupColumn("Waited", ImGuiTableColumnFlags_WidthFixed, 74 * scale);
  header_row(1);

  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(scene.analysis.waits.size()));
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      analyzer::WaitStats const& waits = scene.analysis.waits[static_cast<size_t>(i)];
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      // A bar behind the words says how much of the largest it is.
      ImVec2 const at = ImGui::GetCursorScreenPos();
      float const width =
          ImGui::GetContentRegionAvail().x *
          static_cast<float>(static_cast<double>(waits.exposed_ns) / static_cast<double>(most));
      ImGui::GetWindowDrawList()->AddRectFilled(
          at, ImVec2(at.x + std::max(width, 0.0F), at.y + ImGui::GetFontSize() + 2 * scale),
          with_alpha(paint_colour(waits_paint(waits), state.theme), 0.28F), 2 * scale);
      part_swatch(waits_paint(waits), state.theme);
      std::string const words = describe(scene, waits.ref) + " · " + reason_of(waits);
      text(fit(words, ImGui::GetContentRegionAvail().x));
      hint(fmt::format("{}\nothers waited for it, or for what it delayed, in {}", words,
                       base::format_count(waits.collectives, "collective")));
      for (int64_t const ns : {waits.exposed_ns, waits.gpu_ns}) {
        ImGui::TableNextColumn();
        text_right(base::format_duration(ns), surface(state.theme).text);
      }
    }
  }
  ImGui::EndTable();
}

}  // namespace

void communication_panel(PanelScope const& scope) {
  Scene const& scene = scope.scene;
  ViewState& state = scope.state;

  if (scene.analysis.collectives.empty()) {
    empty_state(scene.analysis.devices.empty()
                    ? without_device(scene, "This panel shows the collectives of devices.")
                    : "No collectives were recorded in this run.",
                state.theme);
    return;
  }
  float const width = ImGui::GetContentRegionAvail().x;
  float const gap = 18 * ui_scale();
  ImGui::BeginChild("matrix", ImVec2(width * 0.44F, 0));
  wait_matrix(scene, state, scope.cache, scope.rows_height);
  ImGui::EndChild();
  ImGui::SameLine(0, gap);
  ImGui::BeginChild("bandwidth", ImVec2(width * 0.27F, 0));
  bandwidth_chart(scene, state, scope.cache, scope.rows_height);
  ImGui::EndChild();
  ImGui::SameLine(0, gap);
  ImGui::BeginChild("causes", ImVec2(0, 0));
  causes_table(scene, state);
  ImGui::EndChild();
}

}  // namespace stepscope::viewer
