#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <imgui.h>

#include "viewer/main_window/parts.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

/// The mouse first, then every action that has a key, as the menus have them.
Lines lines_of_help() {
  Lines lines;
  for (Gesture const& gesture : gestures()) lines.emplace_back(gesture.keys, gesture.words);
  for (Action const& action : all_actions())
    if (action.shortcut.exists()) lines.emplace_back(words_of(action.shortcut), action.name);
  return lines;
}

/// Names of actions.
constexpr std::array kFirstActions = {
    "Next finding",  "Back to the view before",    "Whole run",     "Critical path in the timeline",
    "Search events", "Find a track or a command…", "Keys and mouse"};
/// So many of gestures(), which begin with those of every day.
constexpr size_t kFirstGestures = 3;

void line_of_keys(std::pair<std::string, std::string> const& line, Theme theme) {
  ImGui::TableNextColumn();
  text_coloured(line.first, surface(theme).accent);
  ImGui::TableNextColumn();
  text(line.second);
}

}  // namespace

Lines first_keys() {
  Lines lines;
  // One way suffices, so that the column is narrow.
  for (Gesture const& gesture : gestures().first(kFirstGestures)) {
    std::string_view const keys = gesture.keys;
    lines.emplace_back(keys.substr(0, keys.find(',')), gesture.words);
  }

  for (char const* const name : kFirstActions)
    for (Action const& action : all_actions())
      if (std::string_view(action.name) == name)
        lines.emplace_back(words_of(action.shortcut), action.name);
  return lines;
}

void draw_first_keys(Theme theme) {
  if (!ImGui::BeginTable("first keys", 2, ImGuiTableFlags_SizingFixedFit)) return;
  ImGui::TableSetupColumn("keys", ImGuiTableColumnFlags_WidthFixed);
  ImGui::TableSetupColumn("what they do", ImGuiTableColumnFlags_WidthStretch);

  for (auto const& line : first_keys()) {
    ImGui::TableNextColumn();
    text_coloured(line.first, surface(theme).accent);
    ImGui::TableNextColumn();
    text_wrapped(line.second, surface(theme).text_dim);
  }
  ImGui::EndTable();
}

void help(ViewState& state) {
  if (!state.panels.help) return;
  ImVec2 const screen = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos(ImVec2(screen.x / 2, screen.y / 2), ImGuiCond_Always, ImVec2(0.5F, 0.5F));

  ImGuiWindowFlags const flags = ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoTitleBar |
                                 ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                                 ImGuiWindowFlags_NoFocusOnAppearing;
  ImGui::PushStyleColor(ImGuiCol_WindowBg, surface(state.theme).header);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 8 * ui_scale());
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(22 * ui_scale(), 18 * ui_scale()));

  if (ImGui::Begin("Keys", nullptr, flags)) {
    heading("Keys and mouse");
    ImGui::Spacing();

    Lines const lines = lines_of_help();
    // Two columns beside each other: one would be higher than a small screen.
    size_t const half = (lines.size() + 1) / 2;
    if (ImGui::BeginTable("keys", 5, ImGuiTableFlags_SizingFixedFit)) {
      for (size_t i = 0; i < half; ++i) {
        ImGui::TableNextRow();
        for (size_t const at : {i, i + half}) {
          if (at >= lines.size()) break;
          line_of_keys(lines[at], state.theme);
          if (at != i) continue;
          ImGui::TableNextColumn();
          ImGui::Dummy(ImVec2(16 * ui_scale(), 0));
        }
      }
      ImGui::EndTable();
    }

    ImGui::Spacing();
    text_coloured("Search: a part of a name, \"whole name\", >1ms, <20us, kind:kernel, rank:0",
                  surface(state.theme).text_dim);
  }

  ImGui::End();
  ImGui::PopStyleVar(2);
  ImGui::PopStyleColor();
}

}  // namespace stepscope::viewer
