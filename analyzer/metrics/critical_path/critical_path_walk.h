// The way of the critical path over the processes: from collective to collective, without any
// process's trace (DEFINITIONS, "Critical path"). O(ops) to prepare a process, O(collectives on the
// path) to walk.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/metrics/critical_path/dependency_graph.h"

namespace stepscope::analyzer {

/// Part of the path within one process, in its run time: back from the instant `from` in `op`, to
/// `until`.
struct PathStretch {
  uint32_t process = 0;  ///< place among the graphs
  uint32_t op = 0;
  int64_t from = 0, until = 0;
  uint32_t last_op = kNoNode;  ///< the collective from which the path jumps at `until`; none: the
                               ///< path begins there
};

struct CriticalPathWalk {
  std::vector<PathStretch>
      stretches;  ///< from the end of the path to its begin; their lengths sum to the walked time
  uint64_t jumps = 0;
  int64_t clock_disagreement_ns = 0, clock_filled_ns = 0, clock_cut_ns = 0;
};

/// Where an op of a process is.
struct OpPlace {
  uint32_t process = kNoNode, op = kNoNode;
};

/// From the end of the op `start` back until the window's begin is reached. `last_participants`: by
/// collective.
CriticalPathWalk find_route(std::vector<DependencyGraph> const& graphs, OpPlace start,
                            int64_t window_begin, std::vector<OpPlace> const& last_participants);

}  // namespace stepscope::analyzer
