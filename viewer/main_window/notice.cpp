#include <algorithm>

#include <imgui.h>

#include "viewer/panels/panels.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {

void notice(Outside& outside, Theme theme) {
  float const scale = ui_scale();
  ImVec2 const screen = ImGui::GetIO().DisplaySize;
  constexpr float kNoticeWidth = 620;
  constexpr size_t kLongestNotice = 1000;  // bytes: a path, and why
  ImGui::SetNextWindowPos(ImVec2(screen.x / 2, 48 * scale), ImGuiCond_Always, ImVec2(0.5F, 0));
  float const width = std::min(kNoticeWidth * scale, std::max(screen.x - 20, 1.0F));
  ImGui::SetNextWindowSizeConstraints(ImVec2(width, 0),
                                      ImVec2(width, std::max(screen.y - 60, 1.0F)));
  ImGui::PushStyleColor(ImGuiCol_WindowBg, surface(theme).header);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 6 * scale);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(14 * scale, 10 * scale));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1);
  ImGuiWindowFlags const flags = ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoTitleBar |
                                 ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                                 ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoFocusOnAppearing;
  if (ImGui::Begin("Notice", nullptr, flags)) {
    // What happened to the run's files comes first: what is shown is no more what is there.
    bool const of_files = !outside.file_notice.empty();
    text_wrapped(printable_name(of_files ? outside.file_notice : outside.notice, kLongestNotice),
                 surface(theme).warning);
    if (of_files && ImGui::Button("Read the run again")) outside.read_again = true;
    if (of_files) ImGui::SameLine();
    if (ImGui::Button("OK")) (of_files ? outside.file_notice_seen : outside.seen) = true;
  }
  ImGui::End();
  ImGui::PopStyleVar(3);
  ImGui::PopStyleColor();
}

}  // namespace stepscope::viewer
