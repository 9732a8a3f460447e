// Waiting for peers as tables: by step and device, by device, and in one line.
// metrics/communication/wait_matrix computes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/results/device_ref.h"

namespace stepscope::analyzer {

/// What each device lost by late peers in each step (TimeSplit::exposed_late_ns): a straggler is
/// the row that never waits, a hiccup a column.
struct StepWaitMatrix {
  struct Column {
    int64_t first, last;  ///< step numbers
  };
  struct Row {
    DeviceRef ref;
    std::vector<int64_t>
        ns;  ///< by column: mean loss of a step; < 0: the device has none of these steps
  };
  std::vector<Column> columns;  ///< by number; without the warm-up
  std::vector<Row> rows;        ///< by ref
  size_t devices_left_out = 0;
};

/// The known cells of a row.
struct StepWaits {
  int64_t median_ns = 0, p95_ns = 0, longest_ns = 0;
  int64_t longest_step = 0;  ///< first step of the column with the longest wait
  double waiting_share = 0;  ///< columns with any wait / known columns
};

/// Who waited for whom: a row a device, a column a collective, in the order in which they began.
/// Where there are more of either than fit, neighbours share a cell, which has their longest wait.
struct CollectiveWaitMatrix {
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

/// The time that a device waited for others inside collectives, summed over the run, hidden or not.
struct DeviceWait {
  DeviceRef ref;
  /// What late peers cost where no compute hides it: mean of a steady step; in all of a
  /// run without steps. None where the run has steps and the device no steady one.
  std::optional<int64_t> lost_ns;
  int64_t wait_ns = 0;                 ///< in all collectives, hidden by compute or not
  uint64_t collectives = 0, last = 0;  ///< took part in, arrived last at
  size_t steps = 0;                    ///< of the device, warm-up included
};

/// Exposed waiting for late peers in the steady steps of all devices.
struct WaitSummary {
  double exposed_ns = 0;                     ///< Σ WaitStats::exposed_ns: causes are shares of it
  double waiting_ns = 0;                     ///< in measured time
  double measured_ns = 0;                    ///< > 0
  std::optional<double> step_and_device_ns;  ///< mean; none where a device has no steps
  [[nodiscard]] double share() const { return waiting_ns / measured_ns; }
};

}  // namespace stepscope::analyzer
