// Which device waited for the others in which steps, and did not compute meanwhile: a straggler is the row that never waits, a
// hiccup a column.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/results/analysis.h"

namespace stepscope::reports {

/// A screen can tell so many cells apart; more steps are averaged in groups of neighbours, and more devices are left out.
inline constexpr size_t kMapSteps = 120, kMapDevices = 64;

struct WaitMap {
  struct Column {
    int64_t first, last;  ///< step numbers
  };
  struct Row {
    analyzer::DeviceRef ref;
    std::vector<int64_t> ns;  ///< by column: mean exposed wait of a step; < 0: the device has none of these steps
  };
  std::vector<Column> columns;  ///< by number; the warm-up is left out
  std::vector<Row> rows;        ///< by ref; of many devices those that wait least and most
  size_t devices_left_out = 0;
};

/// Empty if no device waits, or if there is nothing to compare: fewer than two devices or two
/// steps. O(steps log steps).
WaitMap wait_map(analyzer::Analysis const& analysis);

}  // namespace stepscope::reports
