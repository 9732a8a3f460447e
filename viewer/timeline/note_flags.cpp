#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <imgui.h>

#include "viewer/timeline/draw.h"
#include "viewer/timeline/overlays.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

/// A flag on the ruler, in pixels at scale 1.
constexpr float kFlagWidth = 9, kFlagHeight = 8;

}  // namespace

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
