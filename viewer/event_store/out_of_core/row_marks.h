// What of a far run stands in a row of the timeline: marks from its tracks' summaries, or the
// events where they were read; and which events a frame would like to have. Pure functions of what
// is in memory.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "viewer/event_store/out_of_core/out_of_core_run.h"
#include "viewer/timeline/layout.h"

namespace stepscope::viewer {

/// A piece of a device's strip: pixels [x0, x1) are busy with a class, or idle by a cause, for most
/// of their time.
struct StripPiece {
  static constexpr uint32_t kNoGap = UINT32_MAX;
  float x0 = 0, x1 = 0;
  Paint paint = Paint::kCompute;
  bool idle = false;
  uint32_t gap =
      kNoGap;  ///< index into Analysis::gaps: the longest of them, when idle and analyzed
};

/// The events of a track's node, of a communicator's, or of all streams of a device's, in the
/// window; null where they are not in memory.
std::shared_ptr<Tile const> tile_of(Scene const& scene, uint32_t node, TimeWindow window);

/// Of a track or a communicator whose events are in the tile.
std::span<Lane const> lanes_of(Scene const& scene, Tile const& tile, uint32_t node);
/// Of a device whose streams are all in the tile.
Segments const& segments_of(Scene const& scene, Tile const& tile, uint32_t node);
/// The samples of a tile, where one is there that tells what holds at the left edge, `begin`; else
/// null.
Curve const* known_curve(Tile const* tile, uint32_t track, double begin);

/// Marks of a track, a pixel each in every lane. Above the first lane events nest at least so deep
/// somewhere in the pixel.
void add_out_of_core_lanes(Scene const& scene, uint32_t node, Layout const& layout, float row_top,
                           bool faded, std::vector<Item>& items);
/// The value's range, pixel by pixel.
void add_out_of_core_curve(Scene const& scene, uint32_t node, Layout const& layout, float y0,
                           float y1, std::vector<CurvePoint>& points);
/// A device's time in `width` pixels.
std::vector<StripPiece> strip_pieces(Scene const& scene, uint32_t node, TimeWindow window,
                                     float width);
void add_out_of_core_strip(Scene const& scene, uint32_t node, Layout const& layout, float y0,
                           float y1, std::vector<Item>& items);

/// A step of a rank that is not analyzed, where it begins.
struct OutOfCoreStep {
  float x = 0;
  int64_t step = 0;
};
/// Those of the window; and the mean length of all, ns.
std::pair<std::vector<OutOfCoreStep>, int64_t> steps_of_files(Scene const& scene, uint32_t rank,
                                                              Layout const& layout);

/// What the rows of a frame would show in more detail, and what the selection belongs to; none that
/// memory would not hold.
std::vector<TileRequest> wanted_tiles(Scene const& scene, ViewState const& state,
                                      Layout const& layout);

}  // namespace stepscope::viewer
