// What a change does to the weights of a replay: one function a kind of change, each a pass over
// the nodes. To add one: a value of ChangeKind, a function and a case here, a line in
// docs/guide/WHATIF.md, a pair with and without it in tests/unit/analyzer/whatif.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analyzer/results/analysis.h"
#include "analyzer/whatif/changes/change.h"
#include "analyzer/whatif/replay/replay.h"

namespace stepscope::analyzer {

struct WorkRatios;

struct ReplayContext {
  ReplayGraph const& graph;
  ReplayTimes const& recorded;                      ///< replay of the recorded weights
  std::vector<CollectiveStats> const& collectives;  ///< of the graph
  std::vector<LinkFit> const& links;
  std::vector<PipelineStats> const& pipelines;
  std::vector<OpStats> const& ops;
  WorkRatios const* probe = nullptr;  ///< of a second run with other work; may be null
};

struct AppliedChange {
  uint64_t changed = 0;          ///< nodes
  std::string refusal;           ///< why there is no answer; empty = none
  bool selects_nothing = false;  ///< the refusal: the run has nothing of what is changed
  std::vector<std::string> cautions;
  /// Where the recording does not tell how much: weights of the least and of the most that it could
  /// be. None where it does.
  std::vector<ReplayWeights> bounds;
  /// What a step takes more besides what the weights tell: work that the graph does not hold.
  double added_ns = 0;
  /// Share of the step by which the change may miss, besides what the replay misses and steps vary
  /// by.
  double error = 0;

  void select_nothing(std::string reason) {
    refusal = std::move(reason);
    selects_nothing = true;
  }
};
AppliedChange apply_change(WhatIfChange const& change, ReplayContext const& context,
                           ReplayWeights& weights);

}  // namespace stepscope::analyzer
