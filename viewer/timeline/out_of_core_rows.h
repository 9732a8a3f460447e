// The rows of a run that is not in memory as rectangles: marks from summaries where the events were
// not read, and which events a frame would like to have. Pure functions of what is in memory.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "viewer/event_store/out_of_core/tiles.h"
#include "viewer/timeline/layout.h"

namespace stepscope::viewer {

/// Marks of a track, a pixel each in every lane. Above the first lane events nest at least so deep
/// somewhere in the pixel.
void add_out_of_core_lanes(Scene const& scene, uint32_t node, Layout const& layout, float row_top,
                           bool faded, std::vector<Item>& items);
/// The value's range, pixel by pixel.
void add_out_of_core_curve(Scene const& scene, uint32_t node, Layout const& layout, float y0,
                           float y1, std::vector<CurvePoint>& points);
void add_out_of_core_strip(Scene const& scene, uint32_t node, Layout const& layout, float y0,
                           float y1, std::vector<Item>& items);

/// A step of a rank that is not analyzed, where it begins.
struct OutOfCoreStep {
  float x = 0;
  int64_t step = 0;
};
/// The steps of the window, and the mean length of all steps, ns.
std::pair<std::vector<OutOfCoreStep>, int64_t> steps_of_files(Scene const& scene, uint32_t rank,
                                                              Layout const& layout);

/// What the rows of a frame would show in more detail, and what the selection belongs to; none that
/// memory would not hold.
std::vector<TileRequest> wanted_tiles(Scene const& scene, ViewState const& state,
                                      Layout const& layout);

}  // namespace stepscope::viewer
