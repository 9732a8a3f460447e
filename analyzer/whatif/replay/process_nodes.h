// The nodes and edges of one process in a replay graph, made from its trace and its dependency
// graph alone. Chains of nodes: first the threads, then the streams, each in its order.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/whatif/replay/host_stretches.h"
#include "analyzer/whatif/replay/replay_graph.h"

namespace stepscope::analyzer {

/// Where an edge of a process begins: a node of the process, the begin of time, or a collective.
inline constexpr uint32_t kRootSource = std::numeric_limits<uint32_t>::max();
inline constexpr uint32_t kCollectiveSource = uint32_t{1} << 31U;

struct LocalEdge {
  uint32_t source = kRootSource;  ///< local node; kRootSource; kCollectiveSource + its number
  ReplayEdge kind = ReplayEdge::kRoot;
  int64_t lag = 0, typical_lag = 0;
};

/// A participant of a collective in this process.
struct LocalArrival {
  uint32_t collective = 0;
  uint32_t node = 0;           ///< kArrival; the next one is its departure
  int64_t start = 0, end = 0;  ///< run time of the process
  int64_t wait_ns = 0;         ///< from its start to the begin of the transfer
};

struct ProcessNodes {
  std::vector<ReplayNode> nodes;
  std::vector<int64_t> own;          ///< beside nodes
  std::vector<uint32_t> first_edge;  ///< by node, and one more
  std::vector<LocalEdge> edges;
  std::vector<uint32_t> chains;  ///< where each begins, and one more
  std::vector<LocalArrival> arrivals;
};

/// `number`: of the process. `first_device`: place of its first device among all. `step_of_row`: of
/// device ops, the place among ReplayGraph::steps, −1 = none.
ProcessNodes make_process_nodes(ReplayProcess const& process, DependencyGraph const& graph,
                                uint32_t number, uint16_t first_device,
                                std::vector<int32_t> const& step_of_row);

}  // namespace stepscope::analyzer
