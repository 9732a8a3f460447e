#include <imgui.h>

#include "viewer/interaction/navigate.h"
#include "viewer/interaction/shell_commands.h"
#include "viewer/panels/fixed/fixed_panels.h"
#include "viewer/timeline/describe.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

void detail_buttons(Scene const& scene, ViewState& state, float rows_height) {
  if (ImGui::Button("Zoom to")) zoom_to_selection(state, scene);
  hint("F");
  if (!state.selection || state.selection->what != Selection::What::kEvent) return;
  auto const at = scene.find(*state.selection);
  if (!at) return;

  if (at->trace->columns().link[at->row].valid()) {
    ImGui::SameLine();
    bool const launch = at->trace->kind(at->row) == model::EventKind::kLaunch;
    if (ImGui::Button(launch ? "Go to device op" : "Go to launch"))
      follow_link(state, scene, rows_height);
    hint("]");
  }

  if (scene.collective_of(*state.selection) != nullptr) {
    ImGui::SameLine();
    if (ImGui::Button("Next device")) follow_collective(state, scene, rows_height);
    hint("The same collective on the next device ( [ )");
  }

  ImGui::SameLine();
  if (ImGui::ArrowButton("previous", ImGuiDir_Left)) step_same_name(state, scene, -1);
  hint("Previous of this name on the track ( , )");
  ImGui::SameLine(0, 2 * ui_scale());
  if (ImGui::ArrowButton("next", ImGuiDir_Right)) step_same_name(state, scene, 1);
  hint("Next of this name on the track ( . )");
}

/// What copies a line of the shell; where the mouse is, the line itself.
void command_button(char const* label, std::string const& line) {
  if (line.empty()) return;
  if (ImGui::SmallButton(label)) ImGui::SetClipboardText(line.c_str());
  hint(line);
}

/// The same in a shell: everything recorded of the selection as a row of a table, and the run at
/// the time that is shown.
void commands(Scene const& scene, ViewState const& state) {
  if (scene.files.empty()) return;
  command_button("Copy query", query_command(scene, *state.selection));
  ImGui::SameLine();
  command_button("Copy view command", view_command(scene, state.window));
}

}  // namespace

void details(Scene const& scene, ViewState& state, float rows_height) {
  heading("Details");
  if (!state.selection) {
    empty_state("Click an event or an idle gap in the timeline to see its details here.",
                state.theme);
    return;
  }

  auto const at = scene.find(*state.selection);
  std::string name = "(reading…)";
  uint32_t colour = surface(state.theme).text_dim;
  if (state.selection->what != Selection::What::kEvent) {
    name = "Idle gap";
    colour = paint_colour(paint_of(scene.analysis.gaps[state.selection->index].cause), state.theme);
  } else if (at) {
    name = printable_name(at->trace->name(at->row));
    colour = paint_colour(paint_of(at->trace->kind(at->row)), state.theme);
  }
  if (name.empty()) name = "(no name)";

  swatch(colour);
  text_wrapped(name, surface(state.theme).text);
  detail_buttons(scene, state, rows_height);
  if (!state.selection) return;
  commands(scene, state);
  Properties const properties = state.selection->what == Selection::What::kEvent
                                    ? event_properties(scene, *state.selection)
                                    : gap_properties(scene, state.selection->index);
  if (!ImGui::BeginTable("properties", 2, ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingFixedFit))
    return;
  ImGui::TableSetupColumn("name", ImGuiTableColumnFlags_WidthFixed);
  ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthStretch);
  for (auto const& [key, value] : properties) property(key, value, state.theme);
  ImGui::EndTable();
}

}  // namespace stepscope::viewer
