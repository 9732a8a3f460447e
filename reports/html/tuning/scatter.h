// Measured against predicted shares as an inline picture: one point a setting, with both intervals
// and the diagonal on which a prediction is exact. It prints and needs no script.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepscope::reports {

/// A share with its interval; bounds that are not finite are not drawn.
struct ScatterValue {
  double value = 0, low = 0, high = 0;
};
struct ScatterPoint {
  std::string mark;   ///< a few characters next to the point, such as the number of a trial
  std::string label;  ///< what it says when pointed at; hostile text
  ScatterValue x, y;
  bool is_filled = false;  ///< stands out: it was accepted
};

/// A figure whose two axes have one scale and contain 0; empty without points. Title and names of
/// the axes are as tr() takes them. Points that are not finite are left out.
std::string html_scatter(std::string_view title, std::string_view x_title, std::string_view y_title,
                         std::vector<ScatterPoint> const& points);

/// Distances of ticks: 1, 2 or 5 times a power of ten, so that `span` has four to ten of them.
double tick_distance(double span);

}  // namespace stepscope::reports
