// Idle time by cause over all devices, and the longest gaps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/results/analysis.h"
#include "trace/model/run.h"

namespace stepscope::analyzer {

/// Idle time of one cause.
struct IdleTotal {
  int64_t total_ns = 0;    ///< of DeviceStats
  double share = 0;        ///< of all idle time
  int64_t longest_ns = 0;  ///< gap
  size_t gaps = 0;
  /// The one with most of it, of equals the first by name; hostile text of at most 300 bytes.
  std::optional<std::string> host_op;
};
/// Index: IdleCause. `run`: the analyzed one, for names.
std::array<IdleTotal, kIdleCauseCount> idle_totals(model::Run const& run, Analysis const& analysis);

/// The `most` longest gaps, the longest first; of equals by ref, then by begin.
std::vector<IdleGap> longest_gaps(IdleGaps const& all, size_t most);

}  // namespace stepscope::analyzer
