// How much later device ops could end without making the window longer (DEFINITIONS, "Critical
// path"), over the graphs of all processes, without their traces. Linear in ops, launches and
// syncs, but for sorting; at most kMostSlackRounds times.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/metrics/critical_path/dependency_graph.h"

namespace stepscope::analyzer {

/// The slack of ops that are not in the window.
inline constexpr int64_t kNoSlack = -1;
/// A delay passes from rank to rank at collectives; each round follows it over one more. Stages of
/// a pipeline need about one a stage; what is still found later is far from the path.
inline constexpr int kMostSlackRounds = 8;

struct OpSlack {
  std::vector<std::vector<int64_t>> of_process;  ///< by graph, then op; 0 on the path
  bool is_exact = true;                          ///< false: a further round could find less
};

/// `collectives`: how many numbers joins have.
OpSlack find_slack(std::vector<DependencyGraph> const& graphs, size_t collectives, Interval window);

}  // namespace stepscope::analyzer
