// The rows of a frame whose events are not in memory, as rectangles from summaries; and the request
// for the events that the frame would rather show.
#pragma once

#include <cstdint>
#include <vector>

#include "viewer/timeline/layout.h"

namespace stepscope::viewer {

/// Marks of a track, a pixel each in every lane. Above the first lane events nest at least so deep
/// somewhere in the pixel.
void add_density_lanes(Scene const& scene, uint32_t node, Layout const& layout, float row_top,
                       bool faded, std::vector<Item>& items);
/// The range of a counter, pixel by pixel.
void add_unread_curve(Scene const& scene, uint32_t node, Layout const& layout, float y0, float y1,
                      std::vector<CurvePoint>& points);
/// A device's time, pixel by pixel.
void add_strip(Scene const& scene, uint32_t node, Layout const& layout, float y0, float y1,
               std::vector<Item>& items);

/// Asks the scene's store for the events of the rows and for those around the selection.
void want_events(Scene const& scene, ViewState const& state, Layout const& layout);

}  // namespace stepscope::viewer
