#include <cmath>

#include <imgui.h>

#include "viewer/comparison/change_marks.h"
#include "viewer/timeline/draw.h"
#include "viewer/timeline/overlays.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {

void change_legend(ImDrawList& list, Theme theme, ImVec2 at, float width) {
  Surface const& s = surface(theme);
  float const scale = ui_scale();
  float const bottom = at.y + kLegend * scale;
  list.AddRectFilled(at, ImVec2(at.x + width, bottom), s.background);
  list.AddRectFilled(at, ImVec2(at.x + width, at.y + 1), s.line_strong);

  float const size = ImGui::GetFontSize();
  float const top = std::round((at.y + bottom - size) / 2);
  float x = at.x + 8 * scale;

  char const* const title = "time of a call, new against base";
  draw_text(list, ImVec2(x, top), s.text_dim, title);
  x += ImGui::CalcTextSize(title).x + 10 * scale;

  float const cell = ImGui::CalcTextSize("<−50 %").x + 8 * scale;
  auto const first = static_cast<uint8_t>(ChangeMark::kFasterHalf);
  for (uint8_t i = first;
       i <= static_cast<uint8_t>(ChangeMark::kSlowerHalf) && x + cell < at.x + width; ++i) {
    auto const mark = static_cast<ChangeMark>(i);
    uint32_t const colour = mark_colour(mark, theme);
    list.AddRectFilled(ImVec2(x, top - scale), ImVec2(x + cell, top + size + 2 * scale), colour);
    draw_text(list,
              ImVec2(std::round(x + (cell - ImGui::CalcTextSize(mark_words(mark)).x) / 2), top),
              text_on(colour), mark_words(mark));
    x += cell;
  }

  for (ChangeMark const mark : {ChangeMark::kNew, ChangeMark::kVanished, ChangeMark::kUnknown}) {
    float const entry = size + 4 * scale + ImGui::CalcTextSize(mark_words(mark)).x;
    x += 12 * scale;
    if (x + entry > at.x + width) break;
    mark_rectangle(list, ImVec2(x, top), ImVec2(x + size * 0.8F, top + size), mark, theme, 1);
    draw_text(list, ImVec2(x + size * 0.8F + 5 * scale, top), s.text, mark_words(mark));
    x += entry;
  }
}

}  // namespace stepscope::viewer
