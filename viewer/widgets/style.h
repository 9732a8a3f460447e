// Fonts and colours of the whole window.
#pragma once

#include "viewer/widgets/theme.h"

namespace stepscope::viewer {

/// Loads DejaVu Sans (regular, bold) at `scale`, with a CJK font merged when the system has one;
/// ImGui's own font when neither is there. Call before the first frame.
void load_fonts(float scale);
/// Sets ImGui's colours, paddings and roundings.
void apply_style(Theme theme, float scale);

}  // namespace stepscope::viewer
