// All-reduces that begin as soon as their gradients are there.
#include <algorithm>
#include <map>

#include "analyzer/whatif/changes/changes.h"

namespace stepscope::analyzer {

AppliedChange overlap_transfers(WhatIfChange const&, ReplayContext const&, ReplayWeights&) {
  AppliedChange applied;
  applied.refusal = "not predicted yet";
  return applied;
}

}  // namespace stepscope::analyzer
