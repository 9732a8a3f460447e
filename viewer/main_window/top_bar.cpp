#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <imgui.h>

#include "trace/base/format.h"
#include "viewer/interaction/navigate.h"
#include "viewer/main_window/parts.h"
#include "viewer/panels/compared/run_pair.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

void search_box(Scene const& scene, ViewState& state, float rows_height) {
  Search& search = state.search;
  float const scale = ui_scale();
  ImGui::SetNextItemWidth(300 * scale);
  bool const focus = search.open && search.text.empty() && !ImGui::IsAnyItemActive();
  if (focus) focus_next_box();

  // A whole name with its filters fits.
  constexpr size_t kLongest = kMaxName + 64;
  std::array<char, kLongest + 1> buffer{};
  search.text.copy(buffer.data(), kLongest);
  if (ImGui::InputTextWithHint("##search", "Search ( / ): name >1ms kind:kernel rank:0",
                               buffer.data(), buffer.size())) {
    search_for(state, buffer.data());
  }

  bool const left = ImGui::IsItemDeactivated();
  if (left && key_pressed(Key::kEnter))
    step_search(state, scene, ImGui::GetIO().KeyShift ? -1 : 1, rows_height);
  if (left && search.text.empty()) search.open = false;

  if (search.text.empty()) return;
  ImGui::SameLine();
  if (ImGui::ArrowButton("previous", ImGuiDir_Left)) step_search(state, scene, -1, rows_height);
  hint("Previous hit (Shift+N)");
  ImGui::SameLine(0, 2 * scale);
  if (ImGui::ArrowButton("next", ImGuiDir_Right)) step_search(state, scene, 1, rows_height);
  hint("Next hit (N)");

  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  if (search.pending) {
    text_coloured(search.total == 0 ? "searching…" : base::format_count(search.total) + " so far…",
                  surface(state.theme).text_dim);
  } else if (search.total == 0) {
    text_coloured("nothing matches", surface(state.theme).warning);
  } else if (search.current) {
    text_coloured(fmt::format("{} of {}", base::format_count(*search.current + 1),
                              base::format_count(search.total)),
                  surface(state.theme).text_dim);
  } else {
    text_coloured(fmt::format("{} hits, Enter shows the next", base::format_count(search.total)),
                  surface(state.theme).text_dim);
  }
}

/// Whether the run is still being written.
void recording_words(WindowStatus const& status, Theme theme) {
  std::string_view const words = words_of(status.recording, status.follows);
  if (words.empty()) return;
  Surface const& s = surface(theme);
  uint32_t colour = status.follows ? s.accent : s.warning;
  if (status.recording == Recording::kFinished) colour = s.text_dim;
  if (status.recording == Recording::kSilent) colour = s.warning;
  ImGui::SameLine(0, 12 * ui_scale());
  text_coloured(words, colour);
  hint("The menu File chooses whether a growing run is read again.");
}

std::string summary(Scene const& scene) {
  auto const plural = [](size_t n, char const* one) {
    return fmt::format("{} {}{}", base::format_count(n), one, n == 1 ? "" : "s");
  };
  return fmt::format("{} · {} · {} · {}", plural(scene.run.ranks.size(), "rank"),
                     plural(scene.analysis.devices.size(), "device"), plural(scene.events, "event"),
                     base::format_duration(scene.length));
}

}  // namespace

void top_bar(ActionScope const& scope) {
  float const scale = ui_scale();
  Scene const& scene = scope.scene;

  menu_bar(scope);
  ImGui::SameLine(0, 14 * scale);
  ImGui::AlignTextToFramePadding();

  // While two runs are compared, the panels show one of them.
  std::string side;
  if (scope.pair != nullptr) side = scope.pair->front_side() == RunSide::kBase ? "Base: " : "New: ";
  heading(fit(side + printable_name(scene.run.name.empty() ? "Stepscope" : scene.run.name),
              320 * scale));

  ImGui::SameLine(0, 12 * scale);
  text_coloured(summary(scene), surface(scope.state.theme).text_dim);
  if (scope.window.status != nullptr) recording_words(*scope.window.status, scope.state.theme);

  ImGui::SameLine(0, 24 * scale);
  search_box(scene, scope.state, scope.rows_height);
  same_name_words(scope.state);
}

}  // namespace stepscope::viewer
