// Bars and squares of the parts of a device's time. Idle time is hatched in the direction of its
// cause (reports/words/labels.h), so that no cause differs from another by its colour alone.
#pragma once

#include <imgui.h>

#include "viewer/widgets/palette.h"

namespace stepscope::viewer {

/// Fills a rectangle in the colour of `paint`, and hatches it if that is a cause of idle time and
/// there is room for lines.
void draw_part(ImDrawList& list, ImVec2 low, ImVec2 high, Paint paint, Theme theme,
               float alpha = 1);

/// swatch() of a part.
void part_swatch(Paint paint, Theme theme);

}  // namespace stepscope::viewer
