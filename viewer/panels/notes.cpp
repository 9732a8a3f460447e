#include <optional>
#include <string>

#include <imgui.h>

#include "viewer/interaction/notes.h"
#include "viewer/panels/common/panel.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"
#include "viewer/widgets/writing_box.h"

namespace stepscope::viewer {
namespace {

/// One line: its time, its text, what removes it. True when it is to be removed.
bool note_line(Scene const& scene, ViewState& state, uint32_t index) {
  Note& note = state.notes[index];

  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::AlignTextToFramePadding();
  ImVec2 const at = ImGui::GetCursorScreenPos();
  // As far as a person reads a time: a thousandth of what is shown.
  std::string const when =
      format_time(static_cast<double>(note.time_ns), state.window.span() / 1000);

  if (ImGui::Selectable("##go", false, 0, ImVec2(0, ImGui::GetFrameHeight())))
    go_to_note(state, scene, index);
  hint("Go there");
  draw_text(*ImGui::GetWindowDrawList(), ImVec2(at.x, at.y + ImGui::GetStyle().FramePadding.y),
            surface(state.theme).accent, when);

  ImGui::TableNextColumn();
  bool const is_new = state.panels.new_note == index;
  if (is_new && !ImGui::IsAnyItemActive()) focus_next_box();
  writing_box("##text", "what is here?", note.text,
              std::max(ImGui::GetContentRegionAvail().x, 1.0F), kLongestNote);
  if (is_new && ImGui::IsItemDeactivated()) state.panels.new_note.reset();

  ImGui::TableNextColumn();
  return ImGui::Button("Delete");
}

}  // namespace

void notes_panel(PanelScope const& scope) {
  Scene const& scene = scope.scene;
  ViewState& state = scope.state;
  std::string const kept_in =
      scope.window.status != nullptr ? scope.window.status->kept_in : std::string();

  if (ImGui::Button("Add a note")) add_note(state, scene);
  hint("At the time under the mouse (N), at the selection, or in the middle of what is visible");
  ImGui::SameLine();

  ImGui::AlignTextToFramePadding();
  text_coloured(kept_in.empty()
                    ? ""
                    : fit("kept in " + printable_name(kept_in), ImGui::GetContentRegionAvail().x),
                surface(state.theme).text_dim);
  if (state.notes.empty()) {
    empty_state("No notes yet. Point at a place in the timeline and press N.", state.theme);
    return;
  }

  ImGuiTableFlags const flags =
      ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY | ImGuiTableFlags_SizingFixedFit;
  if (!ImGui::BeginTable("notes", 3, flags)) return;
  ImGui::TableSetupColumn("time", ImGuiTableColumnFlags_WidthFixed, 110 * ui_scale());
  ImGui::TableSetupColumn("text", ImGuiTableColumnFlags_WidthStretch);
  ImGui::TableSetupColumn("delete", ImGuiTableColumnFlags_WidthFixed);

  std::optional<uint32_t> removed;
  for (uint32_t i = 0; i < state.notes.size(); ++i) {
    ImGui::PushID(static_cast<int>(i));
    if (note_line(scene, state, i)) removed = i;
    ImGui::PopID();
  }

  ImGui::EndTable();
  if (removed) delete_note(state, *removed);
}

}  // namespace stepscope::viewer
