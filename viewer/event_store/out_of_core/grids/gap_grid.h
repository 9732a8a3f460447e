// The longest idle gap of every pixel of a device, whatever the number of gaps. Zoomed out it comes
// from a grid of even cells, each level half as fine as the one below; zoomed in, from the gaps.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/results/idle_gaps.h"
#include "viewer/event_store/out_of_core/grids/even_cells.h"

namespace stepscope::viewer {

/// Immutable; read from any thread.
class GapGrid {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Longest {
    uint32_t gap = kNone;
    uint32_t length = 0;  ///< ns; UINT32_MAX: so long at least
  };

  GapGrid() = default;
  explicit GapGrid(analyzer::DeviceGaps const& gaps);

  /// For each pixel [begin + i·pixel, begin + (i + 1)·pixel), run time: the place of the longest
  /// gap that touches it, or kNone. The first wins among gaps of one length.
  [[nodiscard]] std::vector<Longest> longest(analyzer::DeviceGaps const& gaps, double begin,
                                             double pixel, size_t count) const;

 private:
  EvenCells<Longest> cells_;  ///< run time
};

}  // namespace stepscope::viewer
