// What a change does to the weights of a replay: one function a kind of change, each a pass over
// the nodes. To add one: a value of ChangeKind, a function and a case here, a line in
// docs/guide/WHATIF.md, a pair with and without it in tests/unit/analyzer/whatif.
#pragma once

#include <string>
#include <vector>

#include "analyzer/results/analysis.h"
#include "analyzer/whatif/changes/change.h"
#include "analyzer/whatif/replay/replay.h"

namespace stepscope::analyzer {

struct ReplayContext {
  ReplayGraph const& graph;
  ReplayTimes const& recorded;                      ///< replay of the recorded weights
  std::vector<CollectiveStats> const& collectives;  ///< of the graph
  std::vector<LinkFit> const& links;
};

struct AppliedChange {
  uint64_t changed = 0;  ///< nodes
  std::string refusal;   ///< why there is no answer; empty = none
  std::vector<std::string> cautions;
  /// Where the recording does not tell how much: weights of the least and of the most that it could
  /// be. None where it does.
  std::vector<ReplayWeights> bounds;
};
AppliedChange apply_change(WhatIfChange const& change, ReplayContext const& context,
                           ReplayWeights& weights);

}  // namespace stepscope::analyzer
