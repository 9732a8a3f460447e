#include <imgui.h>

#include "viewer/panels/panels.h"
#include "viewer/widgets.h"

namespace stepscope::viewer {

void help(ViewState& state) {
  struct Line {
    char const* keys;
    char const* words;
  };
  static constexpr Line kLines[] = {
      {"wheel, W S", "zoom at the mouse"},
      {"drag, A D, arrows", "move"},
      {"shift + drag, drag on the ruler", "mark a range: statistics show it"},
      {"shift + wheel", "move in time"},
      {"ctrl + wheel, wheel over the names", "scroll the tracks"},
      {"click", "select; on a name: open or close the group"},
      {"double-click, F", "zoom to what is selected"},
      {"M", "mark the selection's time as range"},
      {". ,", "next and previous of the same name"},
      {"]", "from launch to device op and back"},
      {"[", "the same collective on the next device"},
      {"/", "search: name, \"whole name\", >1ms, <20us, kind:kernel, rank:0"},
      {"Enter, N, Shift+N", "next and previous hit"},
      {"P", "critical path over the timeline"},
      {"Home", "the whole run"},
      {"Backspace", "back to the view before"},
      {"Esc", "close, clear the range, clear the selection"},
      {"?", "this page"},
  };
  if (!state.panels.help) return;
  ImVec2 const screen = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos(ImVec2(screen.x / 2, screen.y / 2), ImGuiCond_Always, ImVec2(0.5F, 0.5F));
  ImGuiWindowFlags const flags = ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoMove |
                                 ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoFocusOnAppearing;
  ImGui::PushStyleColor(ImGuiCol_WindowBg, surface(state.theme).header);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 8 * ui_scale());
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(22 * ui_scale(), 18 * ui_scale()));
  if (ImGui::Begin("Keys", nullptr, flags)) {
    heading("Keys and mouse");
    ImGui::Spacing();
    if (ImGui::BeginTable("keys", 2, ImGuiTableFlags_SizingFixedFit)) {
      for (Line const& line : kLines) {
        ImGui::TableNextRow();
        ImGui::TableNextColumn();
        text_coloured(line.keys, surface(state.theme).accent);
        ImGui::TableNextColumn();
        text(line.words);
      }
      ImGui::EndTable();
    }
  }
  ImGui::End();
  ImGui::PopStyleVar(2);
  ImGui::PopStyleColor();
}

}  // namespace stepscope::viewer
