// Axes of the small charts in panels.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <imgui.h>

#include "viewer/widgets/palette.h"

namespace stepscope::viewer {

/// A chart's area in pixels and what its sides stand for.
struct Plot {
  ImVec2 low, high;            ///< left top, right bottom
  double left = 0, right = 1;  ///< values
  double bottom = 0, top = 1;  ///< values
  bool logarithmic = false;    ///< the horizontal axis: left > 0
  [[nodiscard]] float x(double value) const;
  [[nodiscard]] float y(double value) const;
  [[nodiscard]] double value_at(float x) const;
};

/// 1, 2 or 5 × a power of ten: about `count` such steps make the span.
double nice_step(double span, int count);
struct PlotTick {
  double value;
  std::string label;
};
/// Grid lines with their labels, left of and below the area; labels that would overlap are left
/// out.
void draw_axes(ImDrawList& list, Plot const& plot, std::span<PlotTick const> x_ticks,
               std::span<PlotTick const> y_ticks, Theme theme);

}  // namespace stepscope::viewer
