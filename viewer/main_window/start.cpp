#include "viewer/main_window/start.h"

#include <algorithm>

#include <fmt/format.h>
#include <imgui.h>

#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"
#include "viewer/widgets/writing_box.h"

namespace stepscope::viewer {
namespace {

constexpr float kCardWidth = 560;
constexpr size_t kLongestError = 2000;  ///< bytes

void progress_bar(double share, Theme theme) {
  float const scale = ui_scale();
  ImVec2 const at = ImGui::GetCursorScreenPos();
  float const width = std::max(ImGui::GetContentRegionAvail().x, 1.0F);
  float const height = 6 * scale;
  ImDrawList& list = *ImGui::GetWindowDrawList();

  list.AddRectFilled(at, ImVec2(at.x + width, at.y + height), surface(theme).line_strong,
                     height / 2);
  float const filled = std::max(width * static_cast<float>(std::clamp(share, 0.0, 1.0)), height);
  list.AddRectFilled(at, ImVec2(at.x + filled, at.y + height), surface(theme).accent, height / 2);
  ImGui::Dummy(ImVec2(width, height + 4 * scale));
}

bool opening_card(OpenTask const& opening, Theme theme) {
  OpenTask::Progress const progress = opening.progress();
  std::string const path = opening.paths().empty() ? std::string() : opening.paths().front();
  heading(fit(printable_name(path), ImGui::GetContentRegionAvail().x));

  ImGui::Spacing();
  progress_bar(share_of(progress), theme);
  text_coloured(words_of(progress), surface(theme).text);
  ImGui::SameLine();
  text_right(fmt::format("{:.0f} s", progress.seconds), surface(theme).text_dim);

  ImGui::Spacing();
  return ImGui::Button("Cancel");
}

/// Where a path can be written. True when it is to be opened.
bool path_box(StartPage& page) {
  constexpr size_t kLongestTyped = 4096;  // as long as paths may be
  char const* const opens = page.compares ? "Compare" : "Open";
  float const button = ImGui::CalcTextSize(opens).x + 2 * ImGui::GetStyle().FramePadding.x;
  float const width = ImGui::GetContentRegionAvail().x - button - ImGui::GetStyle().ItemSpacing.x;

  if (page.asks && page.typed.empty() && !ImGui::IsAnyItemActive()) focus_next_box();
  writing_box("##path", "path of a trace or of a folder of traces", page.typed,
              std::max(width, 1.0F), kLongestTyped);
  bool const entered = ImGui::IsItemDeactivated() && key_pressed(Key::kEnter);

  ImGui::SameLine();
  bool const clicked = ImGui::Button(opens);
  return (entered || clicked) && !page.typed.empty();
}

std::string recent_list(StartPage const& page, Theme theme) {
  std::string chosen;
  ImGui::Spacing();
  text_coloured("Drop a trace or a folder of traces here, or open one of the last:",
                surface(theme).text_dim);
  if (page.recent.empty()) text_coloured("none yet: stepscope view RUN", surface(theme).text_dim);

  for (size_t i = 0; i < page.recent.size(); ++i) {
    ImGui::PushID(static_cast<int>(i));
    ImVec2 const at = ImGui::GetCursorScreenPos();
    std::string const name = printable_name(page.recent[i]);

    if (ImGui::Selectable("##recent", false, 0, ImVec2(0, ImGui::GetFontSize() + 6 * ui_scale())))
      chosen = page.recent[i];
    hint(name);
    draw_text(*ImGui::GetWindowDrawList(), ImVec2(at.x + 6 * ui_scale(), at.y + 3 * ui_scale()),
              surface(theme).accent, fit(name, ImGui::GetContentRegionAvail().x - 12 * ui_scale()));
    ImGui::PopID();
  }
  return chosen;
}

char const* title_of(StartPage const& page) {
  if (!page.error.empty()) return "This run cannot be opened";
  if (page.compares) return "Compare with another run";
  return page.asks ? "Open a run" : "Stepscope";
}

/// Why the last run could not be opened, the box for a path, and the runs that were opened last.
void choose_run(StartPage& page, StartChoice& choice, Theme theme) {
  heading(title_of(page));
  ImGui::Spacing();
  if (!page.error.empty()) {
    text_wrapped(printable_name(page.error, kLongestError), surface(theme).critical);
    ImGui::Spacing();
  }

  bool const entered = path_box(page);
  choice.open = recent_list(page, theme);
  if (entered && choice.open.empty()) choice.open = page.typed;

  ImGui::Spacing();
  if (page.closes) ImGui::Checkbox("Compare with the run that is shown", &page.compares);
  if (page.closes) choice.close = ImGui::Button("Back to the run");
}

}  // namespace

StartChoice start_page(StartPage& page, OpenTask const* opening, Theme theme) {
  StartChoice choice;
  ImVec2 const screen = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos(ImVec2(screen.x / 2, screen.y * 0.4F), ImGuiCond_Always,
                          ImVec2(0.5F, 0.5F));
  float const width = std::min(kCardWidth * ui_scale(), std::max(screen.x - 20, 1.0F));
  ImGui::SetNextWindowSizeConstraints(ImVec2(width, 0),
                                      ImVec2(width, std::max(screen.y - 20, 1.0F)));

  ImGui::PushStyleColor(ImGuiCol_WindowBg, surface(theme).header);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 8 * ui_scale());
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(24 * ui_scale(), 20 * ui_scale()));
  ImGuiWindowFlags const flags = ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoTitleBar |
                                 ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                                 ImGuiWindowFlags_NoResize;

  if (ImGui::Begin("Start", nullptr, flags)) {
    if (opening != nullptr) {
      choice.cancel = opening_card(*opening, theme);
    } else {
      choose_run(page, choice, theme);
    }
  }

  ImGui::End();
  ImGui::PopStyleVar(2);
  ImGui::PopStyleColor();
  return choice;
}

}  // namespace stepscope::viewer
