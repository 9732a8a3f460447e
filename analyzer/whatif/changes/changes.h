// The kinds of changes; what each means is in change.h.
#pragma once

#include "analyzer/whatif/apply_change.h"

namespace stepscope::analyzer {

/// Kernels, classes of ops, copies.
AppliedChange change_ops(WhatIfChange const& change, ReplayContext const& context,
                         ReplayWeights& weights);
/// What collectives and messages take.
AppliedChange change_transfers(WhatIfChange const& change, ReplayContext const& context,
                               ReplayWeights& weights);
AppliedChange overlap_transfers(WhatIfChange const& change, ReplayContext const& context,
                                ReplayWeights& weights);
/// Kernels and host of one rank, or of all, as long as the usual rank's.
AppliedChange remove_straggler(WhatIfChange const& change, ReplayContext const& context,
                               ReplayWeights& weights);
AppliedChange balance_steps(WhatIfChange const& change, ReplayContext const& context,
                            ReplayWeights& weights);
/// What hosts do.
AppliedChange change_host(WhatIfChange const& change, ReplayContext const& context,
                          ReplayWeights& weights);

/// The trace of a node's process. The node is no transfer and not the root.
inline model::Trace const& trace_of(ReplayContext const& context, ReplayNode const& node) {
  return context.graph.processes[node.process].devices.front().trace();
}
/// Takes away the edges of a kind that lead to the node.
void cut_edges(ReplayGraph const& graph, uint32_t node, ReplayEdge kind, ReplayWeights& weights);

}  // namespace stepscope::analyzer
