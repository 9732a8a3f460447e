// The longest idle gap of every pixel of a device, whatever the number of gaps: zoomed out from a grid of even cells of which
// each level is half as fine as the one below, zoomed in from the gaps.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/idle_gaps.h"

namespace stepscope::viewer {

/// Immutable; read from any thread.
class GapGrid {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  GapGrid() = default;
  explicit GapGrid(analyzer::DeviceGaps const& gaps);

  /// Of each pixel [begin + i·pixel, begin + (i + 1)·pixel), run time: the place of the longest gap that touches it, or kNone.
  [[nodiscard]] std::vector<uint32_t> longest(analyzer::DeviceGaps const& gaps, double begin, double pixel, size_t count) const;

 private:
  double begin_ = 0, width_ = 1;               ///< of the finest cells
  std::vector<std::vector<uint32_t>> levels_;  ///< [0] = finest
};

}  // namespace stepscope::viewer
