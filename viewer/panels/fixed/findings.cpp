#include <algorithm>

#include <fmt/format.h>
#include <imgui.h>

#include "reports/words/kernel_label.h"
#include "reports/words/labels.h"
#include "reports/words/wording.h"
#include "trace/base/format.h"
#include "viewer/interaction/navigate.h"
#include "viewer/panels/fixed/fixed_panels.h"
#include "viewer/timeline/describe.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

/// In bytes: names of the trace are part of it.
constexpr size_t kLongestTitle = 1000;

uint32_t severity_colour(analyzer::Severity severity, Theme theme) {
  Surface const& s = surface(theme);
  if (severity == analyzer::Severity::kCritical) return s.critical;
  return severity == analyzer::Severity::kWarning ? s.warning : s.accent;
}

/// "costs 12.3 ms a step · without it: at most 18.0 % faster".
std::string cost_of(analyzer::Finding const& finding) {
  std::string words;
  if (finding.cost_ns_per_step)
    words = fmt::format("costs {} a step", base::format_duration(*finding.cost_ns_per_step));
  if (std::string const gains = reports::gains_of(finding); !gains.empty()) {
    if (!words.empty()) words += " · ";
    words += gains;
  }
  return words;
}

/// Words for our own keys; anything else is a name from the trace.
std::string subject_words(std::string const& role, std::string const& name) {
  constexpr size_t kMostOfKernel = 100;
  if (role == "cause" || role == "loader" || role == "bottleneck") return words_of(name);
  if (role == "kernel") return reports::kernel_label(name, kMostOfKernel);
  for (int cause = 0; cause < analyzer::kIdleCauseCount; ++cause)
    if (name == analyzer::to_string(static_cast<analyzer::IdleCause>(cause))) return words_of(name);
  return printable_name(name, 120);
}

std::string subjects_of(analyzer::Finding const& finding) {
  std::string words;
  for (auto const& [role, name] : finding.subjects) {
    if (role == "gaps") continue;  // chooses the advice, and names nothing
    if (!words.empty()) words += " · ";
    words += words_of(printable_name(role, 40)) + ": " + subject_words(role, name);
  }
  return words;
}

void card_text(Scene const& scene, analyzer::Finding const& finding, bool focused, Theme theme) {
  Surface const& s = surface(theme);
  reports::FindingWords const words = reports::words_of(scene.run, scene.analysis, finding);

  push_bold();
  ImVec2 const corner = ImGui::GetCursorScreenPos();
  float const room = ImGui::GetContentRegionAvail().x - 8 * ui_scale();
  char const* const severity = analyzer::to_string(finding.severity);
  float const severity_width = ImGui::CalcTextSize(severity).x;
  ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + room - severity_width - 8 * ui_scale());
  text_coloured(printable_name(words.title, kLongestTitle), s.text);
  ImGui::PopTextWrapPos();
  pop_bold();
  draw_text(*ImGui::GetWindowDrawList(), ImVec2(corner.x + room - severity_width, corner.y),
            severity_colour(finding.severity, theme), severity);

  std::string const cost = cost_of(finding);
  if (!cost.empty()) text_wrapped(cost, severity_colour(finding.severity, theme));

  std::string where = finding.where ? describe(scene, *finding.where) : std::string{};
  std::string const subjects = subjects_of(finding);
  if (!where.empty() && !subjects.empty()) where += " · ";
  if (!(where + subjects).empty()) text_wrapped(where + subjects, s.text_dim);

  if (!focused) return;
  constexpr size_t kLongestText = 4000;
  text_wrapped(printable_name(words.explanation, kLongestText), s.text);
  text_wrapped(printable_name(words.advice, kLongestText), s.text);
}

void evidence_row(Scene const& scene, ViewState& state, uint32_t index, float rows_height) {
  auto const count = static_cast<uint32_t>(scene.analysis.findings[index].evidence.size());
  if (count == 0) {
    text_wrapped("holds for the run as a whole, no single place to show",
                 surface(state.theme).text_dim);
    return;
  }

  if (ImGui::ArrowButton("previous", ImGuiDir_Left)) step_place(state, scene, -1, rows_height);
  ImGui::SameLine(0, 4 * ui_scale());
  if (ImGui::ArrowButton("next", ImGuiDir_Right)) step_place(state, scene, 1, rows_height);

  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  text_coloured(fmt::format("place {} of {}", state.finding->evidence + 1, count),
                surface(state.theme).text_dim);
}

void card(Scene const& scene, ViewState& state, uint32_t index, float rows_height) {
  analyzer::Finding const& finding = scene.analysis.findings[index];
  float const scale = ui_scale();
  bool const focused = state.finding && state.finding->finding == index;
  ImGui::PushID(static_cast<int>(index));
  ImDrawList& list = *ImGui::GetWindowDrawList();

  // The background is known once the text is laid out: two layers.
  list.ChannelsSplit(2);
  list.ChannelsSetCurrent(1);
  ImVec2 const low = ImGui::GetCursorScreenPos();
  float const width = ImGui::GetContentRegionAvail().x;
  float const pad = 8 * scale;

  ImGui::Dummy(ImVec2(0, pad - ImGui::GetStyle().ItemSpacing.y));
  ImGui::Indent(pad + 6 * scale);
  ImGui::BeginGroup();
  card_text(scene, finding, focused, state.theme);
  ImGui::EndGroup();
  float const clickable = ImGui::GetItemRectMax().y + pad - low.y;
  if (focused) evidence_row(scene, state, index, rows_height);

  ImGui::Unindent(pad + 6 * scale);
  ImVec2 const high(low.x + width, ImGui::GetItemRectMax().y + pad);
  ImVec2 const after = ImGui::GetCursorPos();
  ImGui::SetCursorScreenPos(low);
  if (ImGui::InvisibleButton("card", ImVec2(std::max(width, 1.0F), clickable)))
    focus_finding(state, scene, {index, 0}, rows_height);
  bool const hovered = ImGui::IsItemHovered();
  bool const has_keys = state.panels.keys == KeyPlace::kFindings && ImGui::IsItemFocused();

  list.ChannelsSetCurrent(0);
  Surface const& s = surface(state.theme);
  uint32_t const at_rest = hovered ? s.header : s.gutter;
  list.AddRectFilled(low, high, focused ? s.line_strong : at_rest, 4 * scale);
  list.AddRectFilled(low, ImVec2(low.x + 4 * scale, high.y),
                     severity_colour(finding.severity, state.theme), 4 * scale);
  list.ChannelsMerge();
  if (has_keys) list.AddRect(low, high, s.accent, 4 * scale, 0, 2 * scale);

  ImGui::SetCursorPos(after);
  ImGui::Dummy(ImVec2(0, pad));
  ImGui::PopID();
}

}  // namespace

void findings(Scene const& scene, ViewState& state, float rows_height) {
  auto const& all = scene.analysis.findings;
  if (scene.missing_analysis) {
    heading("Findings");
    empty_state(*scene.missing_analysis, state.theme);
    return;
  }

  if (!scene.verdict.empty()) {
    text_wrapped(scene.verdict, surface(state.theme).text);
    ImGui::Spacing();
  }
  heading(fmt::format("Findings ({})", all.size()));
  if (all.empty()) {
    empty_state(
        scene.analysis.devices.empty() && scene.analysis.hosts.empty()
            ? "Neither device work nor host ranges were recorded, so nothing can be concluded."
            : "No rule found anything worth changing.",
        state.theme);
    return;
  }

  for (uint32_t i = 0; i < all.size(); ++i) card(scene, state, i, rows_height);
}

}  // namespace stepscope::viewer
