// The critical path in groups of neighbouring steps, for charts of long runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/results/critical_path_stats.h"

namespace stepscope::analyzer {

struct PathStepGroup {
  int64_t first = 0, last = 0;                    ///< step numbers
  std::array<double, kPathClassCount> mean_ns{};  ///< of a step, by class
};

/// At most `most` ≥ 1 groups of equally many steps; the last may have fewer.
std::vector<PathStepGroup> path_step_groups(CriticalPathStats const& path, size_t most);

}  // namespace stepscope::analyzer
