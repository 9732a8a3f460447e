#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <imgui.h>

#include "viewer/interaction/notes.h"
#include "viewer/panels/panels.h"
#include "viewer/timeline/draw.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"
#include "viewer/widgets/writing_box.h"

namespace stepscope::viewer {
namespace {

/// A flag on the ruler, in pixels at scale 1.
constexpr float kFlagWidth = 9, kFlagHeight = 8;

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

void notes(Scene const& scene, ViewState& state, std::string const& kept_in) {
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

void note_flags(ImDrawList& list, ViewState& state, Layout const& layout, ImVec2 origin,
                bool hovered) {
  float const scale = ui_scale();
  Surface const& s = surface(state.theme);
  ImVec2 const mouse = ImGui::GetIO().MousePos;
  float const top = origin.y - kRuler * scale;
  list.PushClipRect(ImVec2(origin.x, top),
                    ImVec2(origin.x + layout.viewport.width, origin.y + layout.viewport.height),
                    true);
  std::vector<uint32_t> under;
  for (uint32_t i = 0; i < state.notes.size(); ++i) {
    auto const time = static_cast<double>(state.notes[i].time_ns);
    if (time < state.window.begin || time > state.window.end) continue;
    float const x = origin.x + std::floor(layout.x_of(time));
    list.AddRectFilled(
        ImVec2(x, top + 2 * scale),
        ImVec2(x + std::max(std::floor(scale), 1.0F), origin.y + layout.viewport.height),
        with_alpha(s.warning, 0.55F));
    list.AddTriangleFilled(ImVec2(x, top + 2 * scale),
                           ImVec2(x + kFlagWidth * scale, top + (2 + kFlagHeight / 2) * scale),
                           ImVec2(x, top + (2 + kFlagHeight) * scale), s.warning);
    bool const over_flag = mouse.x >= x - 2 * scale && mouse.x < x + kFlagWidth * scale &&
                           mouse.y >= top && mouse.y < origin.y;
    if (hovered && over_flag) under.push_back(i);
  }
  list.PopClipRect();
  if (under.empty()) return;
  begin_tooltip();
  ImGui::PushTextWrapPos(ImGui::GetFontSize() * 30);
  constexpr size_t kMostLines = 12;  // of notes that lie on each other
  for (size_t i = 0; i < std::min(under.size(), kMostLines); ++i) {
    std::string const& words = state.notes[under[i]].text;
    text(words.empty() ? "(a note without text)" : printable_name(words, kLongestNote));
  }
  if (under.size() > kMostLines) text(fmt::format("and {} more", under.size() - kMostLines));
  ImGui::PopTextWrapPos();
  end_tooltip();
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) state.panels.tab = Tab::kNotes;
}

}  // namespace stepscope::viewer
