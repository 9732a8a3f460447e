#include "analyzer/whatif/changes/apply_change.h"

#include "analyzer/whatif/changes/changes.h"

namespace stepscope::analyzer {

AppliedChange apply_change(WhatIfChange const& change, ReplayContext const& context,
                           ReplayWeights& weights) {
  switch (change.kind) {
    case ChangeKind::kKernel:
    case ChangeKind::kClass:
    case ChangeKind::kCopies:
      return change_ops(change, context, weights);
    case ChangeKind::kBandwidth:
    case ChangeKind::kLatency:
    case ChangeKind::kCollective:
      return change_transfers(change, context, weights);
    case ChangeKind::kBucket:
      return merge_transfers(change, context, weights);
    case ChangeKind::kRanks:
      return change_ranks(change, context, weights);
    case ChangeKind::kMicroBatches:
      return change_micro_batches(change, context, weights);
    case ChangeKind::kBatch:
      return change_batch(change, context, weights);
    case ChangeKind::kStages:
      return balance_stages(change, context, weights);
    case ChangeKind::kOverlap:
      return overlap_transfers(change, context, weights);
    case ChangeKind::kStraggler:
      return remove_straggler(change, context, weights);
    case ChangeKind::kImbalance:
      return balance_steps(change, context, weights);
    case ChangeKind::kHostRange:
    case ChangeKind::kInput:
    case ChangeKind::kSync:
    case ChangeKind::kAllocation:
    case ChangeKind::kLaunch:
      return change_host(change, context, weights);
  }
  return {};
}

}  // namespace stepscope::analyzer
