// What each stage of a pipeline takes for one micro-batch, from the passes of a recorded step. The
// program's order tells passes apart: compute that is launched between two groups of messages
// belongs to the pass whose message comes first or goes last. O(ops · log ops).
#pragma once

#include <optional>

#include "analyzer/whatif/pipeline/pipeline_schedule.h"
#include "analyzer/whatif/replay/replay.h"

namespace stepscope::analyzer {

struct RecordedGraph {
  ReplayGraph const& graph;
  ReplayTimes const& times;                         ///< replay of the recorded weights
  std::vector<CollectiveStats> const& collectives;  ///< of the graph
};

struct MeasuredUnits {
  PipelineUnits units;
  /// Recorded time from the first op of the first stage to the arrival of its last gradients: mean
  /// of the measured steps. As PipelineTimes::last_gradient_ns of the recorded units.
  double last_gradient_ns = 0;
};
/// `weights`: how long ops and transfers are. None where a step does not have as many passes on
/// each stage as the pipeline has micro-batches, or no step has all.
std::optional<MeasuredUnits> measure_units(PipelineStats const& pipeline,
                                           RecordedGraph const& recorded,
                                           ReplayWeights const& weights);

}  // namespace stepscope::analyzer
