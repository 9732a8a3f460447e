// How full every pixel of a track is, or of all streams of a device, from summaries alone: this is
// drawn where events are not in memory. Zoomed out, from grids of even cells, each grid half as
// fine as the one below; zoomed in, from the summary's bins. O(pixels + bins finer than a cell),
// whatever the number of events.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/model/summary/track_summary.h"
#include "viewer/event_store/density_column.h"
#include "viewer/event_store/out_of_core/grids/even_cells.h"

namespace stepscope::viewer {

/// Immutable; read from any thread.
class DensityGrid {
 public:
  using Summaries = std::span<model::TrackSummary const* const>;
  DensityGrid() = default;
  /// From the summaries of tracks of a process. A class that is busy on several tracks at once
  /// counts once, where a cell shows it.
  explicit DensityGrid(Summaries summaries);

  /// Adds pixel i = [begin + i·pixel, begin + (i + 1)·pixel), trace time, to columns[i].
  /// `summaries`: the same as at construction.
  void add_columns(Summaries summaries, double begin, double pixel,
                   std::vector<DensityColumn>& columns) const;
  [[nodiscard]] size_t bytes() const { return cells_.bytes(); }

 private:
  struct Cell {
    std::array<uint16_t, model::kOpClassCount> busy{};  ///< of kFull
    float starts = 0;
    uint16_t depth = 0;
  };
  static constexpr float kFull = 65'535;
  static Cell cell_of(DensityColumn const& column);
  static Cell join(Cell const& left, Cell const& right);

  EvenCells<Cell> cells_;  ///< trace time
};

}  // namespace stepscope::viewer
