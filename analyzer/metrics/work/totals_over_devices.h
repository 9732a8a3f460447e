// Rows of the analysis that devices share by name or direction, added up over all devices. Results
// refer to the analysis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// Device time of one range, or of operations outside of ranges.
struct OpTotal {
  OpStats const* first = nullptr;  ///< the first device's row: what and name
  uint64_t count = 0;
  int64_t total_ns = 0;
  double share = 0;      ///< of the total of all rows
  DeviceRef most_on;     ///< the device with most of it
  int64_t most_ns = -1;  ///< there
  size_t devices = 0;
};
/// Ranges first, then by total, descending.
std::vector<OpTotal> op_totals(Analysis const& analysis, OpStats::Level level);

/// One row a direction, sorted by direction; `ref` is not set.
std::vector<CopyStats> copy_totals(Analysis const& analysis);

/// One row a phase; the medians are of the device whose row is first. Named phases first, then by
/// device time, descending.
std::vector<PhaseStats> phase_totals(Analysis const& analysis);

}  // namespace stepscope::analyzer
