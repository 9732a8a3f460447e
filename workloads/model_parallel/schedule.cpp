// Cuts and schedules of a pipeline; see schedule.h.
#include "workloads/model_parallel/schedule.h"

#include <algorithm>
#include <limits>

#include "trace/base/check.h"

namespace stepscope::workloads {

base::Expected<PipelineSchedule> parse_schedule(std::string const& name) {
  if (name == "gpipe") return PipelineSchedule::kGpipe;
  if (name == "1f1b") return PipelineSchedule::kOneForwardOneBackward;
  return base::fail("--schedule {}: unknown, choose one of: gpipe, 1f1b", name);
}

std::vector<PipelineOp> stage_ops(PipelineSchedule schedule, int64_t stage, int64_t stages,
                                  int64_t micro_batches) {
  // Forward passes before the first backward pass, but for the one right before it.
  int64_t const ahead = held_micro_batches(schedule, stage, stages, micro_batches) - 1;
  std::vector<PipelineOp> ops;
  for (int64_t at = 0; at < micro_batches + ahead; ++at) {
    if (at < micro_batches) ops.push_back({true, at});
    if (at >= ahead) ops.push_back({false, at - ahead});
  }
  return ops;
}

int64_t held_micro_batches(PipelineSchedule schedule, int64_t stage, int64_t stages,
                           int64_t micro_batches) {
  if (schedule == PipelineSchedule::kGpipe) return micro_batches;
  return std::min(micro_batches, stages - stage);
}

double ideal_bubble(int64_t stages, int64_t micro_batches) {
  return static_cast<double>(stages - 1) / static_cast<double>(micro_batches + stages - 1);
}

base::Expected<std::vector<size_t>> cut_layers(std::span<double const> costs,
                                               std::span<double const> shares) {
  constexpr double kImpossible = std::numeric_limits<double>::infinity();
  size_t const layers = costs.size();
  size_t const stages = shares.size();
  STEPSCOPE_CHECK(stages > 0);

  if (stages > layers) {
    return base::fail("{} stages are more than the network's {} layers, use at most {} devices",
                      stages, layers, layers);
  }

  // best[s][n]: of the first n layers on the first s stages; from[s][n]: where the last of these
  // stages begins then.
  std::vector<std::vector<double>> best(stages + 1, std::vector<double>(layers + 1, kImpossible));
  std::vector<std::vector<size_t>> from(stages + 1, std::vector<size_t>(layers + 1));
  best[0][0] = 0;

  for (size_t s = 1; s <= stages; ++s) {
    for (size_t n = s; n <= layers; ++n) {
      double cost = 0;
      for (size_t first = n; first-- > s - 1;) {
        cost += costs[first];
        double const worst = std::max(best[s - 1][first], cost / shares[s - 1]);
        if (worst < best[s][n]) {
          best[s][n] = worst;
          from[s][n] = first;
        }
      }
    }
  }

  // Backwards from the whole network on all stages.
  std::vector<size_t> cut(stages + 1, layers);
  for (size_t s = stages; s > 0; --s) cut[s - 1] = from[s][cut[s]];
  return cut;
}

}  // namespace stepscope::workloads
