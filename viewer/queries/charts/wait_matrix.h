// Who waited for whom: a row a device, a column a collective, in the order in which they began.
// Where there are more of either than can be drawn, neighbours share a cell and the longest wait of
// them is shown.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "viewer/scene/scene.h"

namespace stepscope::viewer {

/// What is asked for: collectives that begin in `range`, in at most so many rows and columns.
struct WaitMatrixKey {
  TimeWindow range;
  uint32_t most_rows = 1, most_columns = 1;
  friend bool operator==(WaitMatrixKey const&, WaitMatrixKey const&) = default;
};

struct WaitMatrix {
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Cell {
    uint32_t collective = kNone;  ///< index into Analysis::collectives: that of the longest wait;
                                  ///< kNone: no device of the row took part
    uint32_t participant = 0;     ///< of it
    int64_t wait_ns = 0;
    uint32_t count = 0;  ///< of participations in the cell
    uint32_t last = 0;   ///< of them: came last, the others waited for it
  };
  struct Row {
    uint32_t first_device = 0,
             last_device = 0;  ///< of Analysis::devices, the last one not included
    int64_t wait_ns = 0;       ///< Σ over all collectives of the range
    uint64_t last = 0;         ///< collectives to which it came last
  };
  std::vector<Row> rows;
  uint32_t columns = 0;
  std::vector<Cell> cells;   ///< row by row
  uint64_t collectives = 0;  ///< in the range, of two devices or more
  int64_t longest_ns = 0;    ///< wait of any cell

  [[nodiscard]] Cell const& at(size_t row, uint32_t column) const {
    return cells[row * columns + column];
  }
};

/// O(participants of the collectives in the range). Told to stop, it returns what is there.
WaitMatrix wait_matrix(Scene const& scene, WaitMatrixKey const& key,
                       std::stop_token const& stop = {});

}  // namespace stepscope::viewer
