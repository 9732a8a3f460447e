// Where a network is cut into stages, and in which order a stage works on its micro-batches. Pure
// functions; train.cpp runs them. GPipe: Huang et al., NeurIPS 2019. 1F1B: Narayanan et al.,
// "PipeDream", SOSP 2019, with a flush after each step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/base/expected.h"

namespace stepscope::workloads {

enum class PipelineSchedule : uint8_t { kGpipe, kOneForwardOneBackward };
/// "gpipe", "1f1b". Error: another name.
base::Expected<PipelineSchedule> parse_schedule(std::string const& name);

struct PipelineOp {
  bool forward;  ///< else backward
  int64_t micro_batch;
  bool operator==(PipelineOp const&) const = default;
};
/// One step of stage `stage`. GPipe: all forward, then all backward. 1F1B: forward until the first
/// gradient can come back, then one backward after each forward. Both go backward in the order of
/// the micro-batches: gradients add up in the same order, to the same bits.
std::vector<PipelineOp> stage_ops(PipelineSchedule schedule, int64_t stage, int64_t stages,
                                  int64_t micro_batches);
/// Micro-batches whose activations the stage holds at once, at most: all for GPipe, stages − stage
/// for 1F1B.
int64_t held_micro_batches(PipelineSchedule schedule, int64_t stage, int64_t stages,
                           int64_t micro_batches);
/// Idle share of all stages' time where all have the same work and nothing else takes time: (p − 1)
/// / (m + p − 1).
double ideal_bubble(int64_t stages, int64_t micro_batches);

/// Cuts layers of these costs into one stage a share, each at least one layer. It makes the largest
/// (cost of the stage / its share) as small as possible. Equal shares balance the stages. Result:
/// each stage's first layer, and the number of layers at the end. Error: more stages than layers.
base::Expected<std::vector<size_t>> cut_layers(std::span<double const> costs,
                                               std::span<double const> shares);

}  // namespace stepscope::workloads
