// The kinds of changes; what each means is in change.h.
#pragma once

#include "analyzer/whatif/changes/apply_change.h"

namespace stepscope::analyzer {

/// Kernels, classes of ops, copies.
AppliedChange change_ops(WhatIfChange const& change, ReplayContext const& context,
                         ReplayWeights& weights);
/// What collectives and messages take.
AppliedChange change_transfers(WhatIfChange const& change, ReplayContext const& context,
                               ReplayWeights& weights);
/// All-reduces in a row become one of their bytes.
AppliedChange merge_transfers(WhatIfChange const& change, ReplayContext const& context,
                              ReplayWeights& weights);
/// The collectives of all ranks over another number of them; with `keeps_batch` also their work.
AppliedChange change_ranks(WhatIfChange const& change, ReplayContext const& context,
                           ReplayWeights& weights);
/// Pipelines hand on another number of micro-batches a step.
AppliedChange change_micro_batches(WhatIfChange const& change, ReplayContext const& context,
                                   ReplayWeights& weights);
/// Each call works on another number of samples.
AppliedChange change_batch(WhatIfChange const& change, ReplayContext const& context,
                           ReplayWeights& weights);
/// All stages of a pipeline compute for as long.
AppliedChange balance_stages(WhatIfChange const& change, ReplayContext const& context,
                             ReplayWeights& weights);
/// All-reduces begin as soon as their gradients are there.
AppliedChange overlap_transfers(WhatIfChange const& change, ReplayContext const& context,
                                ReplayWeights& weights);
/// Kernels and host of one rank, or of all, as long as the typical rank's.
AppliedChange remove_straggler(WhatIfChange const& change, ReplayContext const& context,
                               ReplayWeights& weights);
AppliedChange balance_steps(WhatIfChange const& change, ReplayContext const& context,
                            ReplayWeights& weights);
/// What hosts do.
AppliedChange change_host(WhatIfChange const& change, ReplayContext const& context,
                          ReplayWeights& weights);

/// A collective or a message in the graph: one over all its participants, or one of which only this
/// device was recorded.
struct ReplayTransfer {
  uint32_t node = 0;
  model::CollectiveOp op = model::CollectiveOp::kUnknown;
  uint64_t communicator = 0, bytes = 0;
  uint32_t participants = 0;  ///< of the communicator; 0 = unknown
};
/// All of them, in the order of their nodes.
std::vector<ReplayTransfer> transfers_of(ReplayContext const& context);
/// How transfers of its communicator and operation depend on their size; null: their sizes do not
/// tell.
LinkFit const* fit_of(ReplayContext const& context, ReplayTransfer const& transfer);
/// The part of a transfer that its size does not change, ns; none: no fit tells.
std::optional<int64_t> latency_of(ReplayContext const& context, ReplayTransfer const& transfer);

/// The trace of a node's process. The node is no transfer and not the root.
inline model::Trace const& trace_of(ReplayContext const& context, ReplayNode const& node) {
  return context.graph.processes[node.process].devices.front().trace();
}
/// Takes away the edges of a kind that lead to the node.
void cut_edges(ReplayGraph const& graph, uint32_t node, ReplayEdge kind, ReplayWeights& weights);

}  // namespace stepscope::analyzer
