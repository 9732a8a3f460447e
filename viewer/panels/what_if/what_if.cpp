// The panel What-if: a box for changes, what they would give, and the fixes of the findings one
// after the other.
#include <algorithm>

#include <imgui.h>

#include "viewer/panels/common/panel.h"
#include "viewer/panels/what_if/words.h"
#include "viewer/timeline/describe.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"
#include "viewer/widgets/writing_box.h"

namespace stepscope::viewer {
namespace {

/// The box with what is wrong with its text, and whether the timeline shows the answer.
void question(PanelScope const& scope, WhatIfStatus const& status) {
  WhatIfView& view = scope.state.panels.what_if;
  Surface const& s = surface(scope.state.theme);

  float const clear = ImGui::CalcTextSize("Clear").x + 4 * ImGui::GetStyle().FramePadding.x;
  writing_box("##changes", "a change, such as input=0 or class:compute=/2; several at once",
              view.changes, std::max(ImGui::GetContentRegionAvail().x - clear, 1.0F),
              kLongestChanges);
  hint(
      "Changes stand between blanks and are made together. docs/guide/WHATIF.md lists them. A "
      "change with a blank in it stands in quotes.");
  ImGui::SameLine();
  if (ImGui::Button("Clear")) view.changes.clear();
  if (!status.error.empty())
    text_wrapped(printable_name(status.error, kLongestChanges), s.critical);

  if (scope.pair != nullptr) {
    text_wrapped("The predicted timeline is drawn where one run is shown alone.", s.text_dim);
    return;
  }
  ImGui::Checkbox("Predicted timeline under the recorded one", &view.ghosts);
}

void answer(PanelScope const& scope, WhatIfStatus const& status) {
  Surface const& s = surface(scope.state.theme);
  bool const is_asked = !scope.state.panels.what_if.changes.empty();
  if (status.is_predicting) text_coloured("predicting…", s.text_dim);
  if (!is_asked)
    text_wrapped("Type a change, or click a fix, to see the step that it would give.", s.text_dim);

  if (status.answer != nullptr) {
    auto const lines = prediction_lines(status.session->baseline(), *status.answer);
    ImGui::PushTextWrapPos(0);
    heading(lines.front());
    ImGui::PopTextWrapPos();
    for (size_t i = 1; i < lines.size(); ++i) {
      bool const is_warning = lines[i].starts_with("caution") || status.answer->is_refused;
      text_wrapped(lines[i], is_warning ? s.warning : s.text);
    }
  }

  if (GhostTracks const* const ghosts = shown_ghosts(scope.state, scope.cache))
    text_wrapped(alignment_words(scope.scene, *ghosts), s.text_dim);
  for (std::string const& line : trust_lines(status.session->baseline()))
    text_wrapped(line, s.text_dim);
}

/// What is left of the recorded step, and pale what this fix takes away.
void waterfall_bar(FixLine const& line, Theme theme) {
  float const width = std::max(ImGui::GetContentRegionAvail().x, 1.0F);
  float const height = ImGui::GetFontSize();
  ImVec2 const at = ImGui::GetCursorScreenPos();
  ImGui::Dummy(ImVec2(width, height));
  if (!line.before || !line.after) return;

  auto const x = [&](double share) {
    return at.x + width * static_cast<float>(std::clamp(share, 0.0, 1.0));
  };
  ImDrawList& list = *ImGui::GetWindowDrawList();
  uint32_t const colour = paint_colour(Paint::kCompute, theme);
  list.AddRectFilled(at, ImVec2(x(*line.after), at.y + height), colour);
  if (*line.before > *line.after)
    list.AddRectFilled(ImVec2(x(*line.after), at.y), ImVec2(x(*line.before), at.y + height),
                       with_alpha(surface(theme).accent, 0.45F));
}

void fix_row(FixLine const& line, ViewState& state) {
  Surface const& s = surface(state.theme);
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImVec2 const at = ImGui::GetCursorScreenPos();
  bool const clicked = ImGui::Selectable("##fix", false, ImGuiSelectableFlags_SpanAllColumns);
  hint(line.reason.empty()
           ? line.bottleneck + " is the bottleneck then. A click asks for " + line.change + "."
           : line.reason);
  if (clicked && !line.changes.empty()) state.panels.what_if.changes = line.changes;
  draw_text(*ImGui::GetWindowDrawList(), at, line.reason.empty() ? s.text : s.text_dim,
            fit(line.finding, ImGui::GetContentRegionAvail().x));

  ImGui::TableNextColumn();
  text_coloured(
      fit(line.reason.empty() ? line.change : line.reason, ImGui::GetContentRegionAvail().x),
      s.text_dim);
  ImGui::TableNextColumn();
  waterfall_bar(line, state.theme);
  for (std::string const* const cell : {&line.step, &line.in_sequence, &line.alone}) {
    ImGui::TableNextColumn();
    text_right(*cell, s.text);
  }
}

void fixes(PanelScope const& scope, WhatIfStatus const& status) {
  heading("Fixes of the findings, one after the other");
  if (status.is_finding_fixes) text_coloured("predicting…", surface(scope.state.theme).text_dim);
  if (status.fixes == nullptr) return;
  if (status.fixes->empty())
    return text_wrapped("No finding of this run has a fix to predict.",
                        surface(scope.state.theme).text_dim);

  ImGuiTableFlags const flags =
      ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY | ImGuiTableFlags_SizingFixedFit;
  if (!ImGui::BeginTable("fixes", 6, flags)) return;
  float const scale = ui_scale();
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("Finding", ImGuiTableColumnFlags_WidthFixed, 150 * scale);
  ImGui::TableSetupColumn("Change", ImGuiTableColumnFlags_WidthFixed, 120 * scale);
  ImGui::TableSetupColumn("Step that is left", ImGuiTableColumnFlags_WidthStretch);
  ImGui::TableSetupColumn("Step", ImGuiTableColumnFlags_WidthFixed, 70 * scale);
  ImGui::TableSetupColumn("Gain", ImGuiTableColumnFlags_WidthFixed, 64 * scale);
  ImGui::TableSetupColumn("Alone", ImGuiTableColumnFlags_WidthFixed, 64 * scale);
  header_row(3);

  int id = 0;
  for (FixLine const& line : fix_lines(*status.session, *status.fixes)) {
    ImGui::PushID(id++);
    fix_row(line, scope.state);
    ImGui::PopID();
  }
  ImGui::EndTable();
}

}  // namespace

void what_if_panel(PanelScope const& scope) {
  Scene const& scene = scope.scene;
  Theme const theme = scope.state.theme;
  if (scene.analysis.devices.empty())
    return empty_state(without_device(scene, "A replay needs the work of devices."), theme);

  WhatIfStatus const status = what_if_so_far(scope.cache);
  float const width = ImGui::GetContentRegionAvail().x;
  ImGui::BeginChild("question", ImVec2(width * 0.42F, 0));
  question(scope, status);
  std::string const progress = replay_progress(status);
  if (progress.empty())
    answer(scope, status);
  else
    text_wrapped(progress, surface(theme).text_dim);
  ImGui::EndChild();

  ImGui::SameLine(0, 18 * ui_scale());
  ImGui::BeginChild("fixes", ImVec2(0, 0));
  if (progress.empty()) fixes(scope, status);
  ImGui::EndChild();
}

}  // namespace stepscope::viewer
