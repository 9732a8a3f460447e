#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <imgui.h>

#include "trace/base/format.h"
#include "viewer/interaction/track_finder.h"
#include "viewer/main_window/parts.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"
#include "viewer/widgets/writing_box.h"

namespace stepscope::viewer {
namespace {

constexpr float kFinderWidth = 520, kFinderRows = 12;

/// What the text finds: tracks with all words, commands, tracks with the letters. A text that
/// begins with ">" finds commands alone.
struct Found {
  FoundTracks tracks;
  std::vector<Action const*> commands;

  [[nodiscard]] uint32_t count() const {
    return static_cast<uint32_t>(tracks.nodes.size() + commands.size());
  }
  /// In what the list shows, from the top; none: a track.
  [[nodiscard]] Action const* command(uint32_t at) const {
    bool const is_command = at >= tracks.with_words && at - tracks.with_words < commands.size();
    return is_command ? commands[at - tracks.with_words] : nullptr;
  }
  [[nodiscard]] uint32_t track(uint32_t at) const {
    return tracks.nodes[at < tracks.with_words ? at : at - commands.size()];
  }
};

Found find(std::string_view text, ActionScope const& scope) {
  constexpr char kCommands = '>';
  if (text.starts_with(kCommands)) return {{}, find_actions(text.substr(1), scope)};
  return {find_tracks(scope.scene, text), find_actions(text, scope)};
}

/// "Tracks: Open all", with its key at the right.
void draw_command(Action const& action, ImVec2 at, float room, Surface const& s) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  std::string const key = words_of(action.shortcut);
  float const width = ImGui::CalcTextSize(key.c_str()).x;
  draw_text(list, at, s.text,
            fit(fmt::format("{}: {}", menu_name(action.menu), action.name), room - width - 20));
  draw_text(list, ImVec2(at.x + room - width, at.y), s.text_dim, key);
}

/// The list under the box. What was clicked.
std::optional<uint32_t> list_of_found(ActionScope const& scope, Found const& found, bool moved) {
  std::optional<uint32_t> clicked;
  Surface const& s = surface(scope.state.theme);
  float const scale = ui_scale(), line = ImGui::GetFontSize() + 6 * scale;
  float const rows = std::min(kFinderRows, static_cast<float>(std::max(found.count(), 1U)));
  ImGui::BeginChild("found", ImVec2(0, rows * (line + ImGui::GetStyle().ItemSpacing.y)));

  for (uint32_t i = 0; i < found.count(); ++i) {
    ImGui::PushID(static_cast<int>(i));
    ImVec2 const corner = ImGui::GetCursorScreenPos();
    bool const is_chosen = i == scope.state.panels.finder.chosen;
    if (ImGui::Selectable("##found", is_chosen, 0, ImVec2(0, line))) clicked = i;
    if (is_chosen && moved) ImGui::SetScrollHereY();

    float const room = std::max(ImGui::GetContentRegionAvail().x, 1.0F) - 12 * scale;
    ImVec2 const at(corner.x + 6 * scale, corner.y + 3 * scale);
    if (Action const* const command = found.command(i)) {
      draw_command(*command, at, room, s);
    } else {
      Node const& node = scope.scene.nodes[found.track(i)];
      draw_text(*ImGui::GetWindowDrawList(), at, s.text, fit(printable_name(node.path), room));
    }
    ImGui::PopID();
  }

  if (found.count() == 0) text_coloured("no track and no command has this name", s.warning);
  ImGui::EndChild();
  return clicked;
}

/// "the first 200 of 3,000 tracks, 40 commands · Enter goes there or does it, Esc closes".
std::string counts_of(Found const& found) {
  size_t const shown = found.tracks.nodes.size();
  std::string text;
  if (found.tracks.total > shown) text = fmt::format("the first {} of ", base::format_count(shown));
  if (shown > 0) text += base::format_count(found.tracks.total, "track") + ", ";
  return text + base::format_count(found.commands.size(), "command") +
         " (> finds these alone) · Enter goes there or does it, Esc closes";
}

}  // namespace

void track_finder(ActionScope const& scope) {
  ViewState& state = scope.state;
  TrackFinder& finder = state.panels.finder;
  if (!finder.open) return;

  ImVec2 const screen = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos(ImVec2(screen.x / 2, screen.y * 0.12F), ImGuiCond_Always,
                          ImVec2(0.5F, 0));
  float const width = std::min(kFinderWidth * ui_scale(), std::max(screen.x - 20, 1.0F));
  ImGui::SetNextWindowSizeConstraints(ImVec2(width, 0),
                                      ImVec2(width, std::max(screen.y * 0.8F, 1.0F)));

  ImGui::PushStyleColor(ImGuiCol_WindowBg, surface(state.theme).header);
  ImGui::PushStyleColor(ImGuiCol_FrameBg, surface(state.theme).background);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 8 * ui_scale());
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(14 * ui_scale(), 12 * ui_scale()));
  // The rows behind the window have its colour: a border sets them apart.
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1);
  ImGuiWindowFlags const flags = ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoTitleBar |
                                 ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                                 ImGuiWindowFlags_NoResize;

  ImGui::Begin("Find a track", nullptr, flags);
  // The box has the keyboard from its first frame on.
  if (ImGui::IsWindowAppearing()) ImGui::SetWindowFocus();
  bool const was_writing = ImGui::GetIO().WantTextInput;
  if (!ImGui::IsAnyItemActive()) focus_next_box();

  std::string const before = finder.text;
  writing_box("##finder", "Track or command: rank 3 stream 7, light colours", finder.text,
              ImGui::GetContentRegionAvail().x, 256);
  if (finder.text != before) finder.chosen = 0;

  Found const found = find(finder.text, scope);
  uint32_t const count = found.count();
  bool const down = key_pressed(Key::kDown, true) && finder.chosen + 1 < count;
  bool const up = key_pressed(Key::kUp, true) && finder.chosen > 0;
  if (down) ++finder.chosen;
  if (up) --finder.chosen;
  finder.chosen = std::min(finder.chosen, count > 0 ? count - 1 : 0U);

  auto chosen = list_of_found(scope, found, down || up);
  if (was_writing && key_pressed(Key::kEnter) && count > 0) chosen = finder.chosen;
  text_coloured(counts_of(found), surface(state.theme).text_dim);

  bool const left = !ImGui::IsWindowFocused(ImGuiFocusedFlags_ChildWindows) &&
                    !ImGui::IsWindowAppearing() && was_writing;
  ImGui::End();
  ImGui::PopStyleVar(3);
  ImGui::PopStyleColor(2);

  // The box is closed first: a command may open another one.
  if (chosen || left) finder = {};
  if (!chosen) return;
  if (Action const* const command = found.command(*chosen))
    run(*command, scope);
  else
    go_to_track(state, scope.scene, found.track(*chosen), scope.rows_height);
}

}  // namespace stepscope::viewer
