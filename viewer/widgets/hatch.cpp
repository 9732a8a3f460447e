#include "viewer/widgets/hatch.h"

#include <algorithm>

#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

// At scale 1, in pixels.
constexpr float kBetweenLines = 5;
constexpr float kLineWidth = 1.5F;
constexpr float kLeastSide = 5;

/// The lines of a rectangle, each clipped to it.
template <class Line>
void each_line(ImVec2 low, ImVec2 high, reports::Hatch hatch, float between, Line const& line) {
  if (hatch == reports::Hatch::kLevel) {
    for (float y = low.y + between / 2; y < high.y; y += between)
      line(ImVec2(low.x, y), ImVec2(high.x, y));
    return;
  }

  // Slanted lines have `from` on the upper edge, or would have it there if that were long enough.
  float const height = high.y - low.y;
  float const step = between * 1.4142F;
  for (float from = low.x + step / 2; from < high.x + height; from += step) {
    float const right = std::min(from, high.x), left = std::max(from - height, low.x);
    ImVec2 upper(right, low.y + from - right), lower(left, low.y + from - left);
    if (hatch == reports::Hatch::kFalling) {
      upper.x = low.x + high.x - upper.x;
      lower.x = low.x + high.x - lower.x;
    }
    line(upper, lower);
  }
}

/// As dark, or as light, as in the report's style sheet (--hatch).
uint32_t ink_of(Theme theme, float alpha) {
  return theme == Theme::kDark ? with_alpha(IM_COL32_BLACK, 0.38F * alpha)
                               : with_alpha(IM_COL32_WHITE, 0.45F * alpha);
}

}  // namespace

void draw_part(ImDrawList& list, ImVec2 low, ImVec2 high, Paint paint, Theme theme, float alpha) {
  list.AddRectFilled(low, high, with_alpha(paint_colour(paint, theme), alpha));

  float const scale = ui_scale(), least = kLeastSide * scale;
  reports::Hatch const hatch = hatch_of(paint);
  if (hatch == reports::Hatch::kNone || high.x - low.x < least || high.y - low.y < least) return;
  each_line(low, high, hatch, kBetweenLines * scale, [&](ImVec2 from, ImVec2 to) {
    list.AddLine(from, to, ink_of(theme, alpha), kLineWidth * scale);
  });
}

void part_swatch(Paint paint, Theme theme) {
  auto const [low, high] = swatch_room();
  draw_part(*ImGui::GetWindowDrawList(), low, high, paint, theme);
}

}  // namespace stepscope::viewer
