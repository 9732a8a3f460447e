// How long the passes of a pipeline take, from what a stage takes for one micro-batch. The passes
// follow one another in the order of the schedule; a pass begins when its message is there. Pure:
// numbers in, numbers out.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/results/collective_stats.h"

namespace stepscope::analyzer {

struct PipelineUnits {
  struct Stage {
    double forward_ns = 0, backward_ns = 0;  ///< of one micro-batch
  };
  std::vector<Stage> stages;  ///< the first stage first; at least two
  /// Transfers of messages between a stage and the next one, by the first of both; one less than
  /// stages.
  std::vector<double> activation_ns, gradient_ns;
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
};

/// Instants from the begin of the first pass on, ns.
struct PipelineTimes {
  double end_ns = 0;            ///< of the last pass
  double last_gradient_ns = 0;  ///< when the first stage has its last gradients
};
/// `micro_batches` ≥ 1. Messages of one direction and boundary follow one another.
/// O(stages · micro-batches).
PipelineTimes play_pipeline(PipelineUnits const& units, uint32_t micro_batches);

}  // namespace stepscope::analyzer
