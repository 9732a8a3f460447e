// Joins the nodes of all processes to one replay graph.
#pragma once

#include <vector>

#include "analyzer/results/analysis.h"
#include "analyzer/whatif/replay/process_nodes.h"
#include "analyzer/whatif/replay/replay_graph.h"

namespace stepscope::analyzer {

/// Fills nodes, edges and weights of `graph`: first the begin of time, then the nodes of `parts`
/// and a transfer for each collective, each behind all that it waits for. Where something would
/// wait for itself, the graph gets only its first node and is not whole. `stats`: of all
/// collectives; arrivals number them. O(nodes + edges); the filling runs on all cores.
void join_nodes(std::vector<ProcessNodes> const& parts, std::vector<CollectiveStats> const& stats,
                ReplayGraph& graph);

}  // namespace stepscope::analyzer
