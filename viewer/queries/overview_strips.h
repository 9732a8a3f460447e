// The whole run, a line a device (without devices a line a thread), folded to a number of columns:
// it changes only with the width of the window.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "viewer/scene/scene.h"

namespace stepscope::viewer {

struct OverviewStrips {
  /// Columns [first, last) show `paint`: one piece of time, or the longest of those in a column.
  struct Piece {
    float first = 0, last = 0;
    Paint paint = Paint::kCompute;
    bool idle = false;
  };
  float columns = 1;
  /// In the order of the timeline, at most kMaxStrips. Later pieces of a thread are drawn over
  /// earlier ones.
  std::vector<std::vector<Piece>> devices;
};
/// Device lines that are drawn; more would be thinner than a pixel.
inline constexpr size_t kMaxStrips = 16;

/// O(devices × columns × log segments). Told to stop, it returns what is there.
OverviewStrips overview_strips(Scene const& scene, uint32_t columns,
                               std::stop_token const& stop = {});

}  // namespace stepscope::viewer
