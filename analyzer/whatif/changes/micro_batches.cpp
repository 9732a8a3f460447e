// Another number of micro-batches. The graph keeps those that it has: what more or fewer of them
// take follows from the schedule, played with what each stage takes for one of them.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/work.h"
#include "analyzer/whatif/pipeline/pipeline_units.h"

namespace stepscope::analyzer {
namespace {

/// Micro-batches of so much of their work now: their kernels and messages. Refuses what the runs do
/// not tell.
void change_size(uint32_t from, uint32_t to, ReplayContext const& context, ReplayWeights& weights,
                 AppliedChange& applied) {
  if (context.probe == nullptr) {
    applied.refusal =
        "one run does not tell what kernels take with another size: give a second run, of the same "
        "batch in another number of micro-batches, with --probe RUN. Or keep the size with "
        "micro-batches=N:same-size";
    return;
  }
  WorkRatios const& probe = *context.probe;
  if (probe.probe_micro_batches < 1 || probe.probe_micro_batches == from) {
    applied.refusal = fmt::format(
        "the probe has {} micro-batches a step: give a run of the same batch in another number of "
        "micro-batches than {}",
        probe.probe_micro_batches < 1 ? "no" : std::to_string(probe.probe_micro_batches), from);
    return;
  }
  if (probe.devices != probe.probe_devices) {
    applied.refusal = fmt::format("the probe has {} devices: give a run on {}, as the run itself",
                                  probe.probe_devices, probe.devices);
    return;
  }

  double const of_probe = static_cast<double>(from) / probe.probe_micro_batches;
  double const work = static_cast<double>(from) / to;
  change_work({&WorkRatios::Kernel::call, of_probe, work}, context, weights, applied);
  change_messages(of_probe, work, context, weights, applied);
}

/// How far the played schedule misses the recorded one; none where passes are not told apart.
std::optional<double> schedule_error(PipelineStats const& pipeline, ReplayContext const& context) {
  RecordedGraph const graph{context.graph, context.recorded, context.collectives};
  auto const recorded = measure_units(pipeline, graph, context.graph.recorded);
  if (!recorded || recorded->last_gradient_ns <= 0) return std::nullopt;
  PipelineTimes const played = play_pipeline(recorded->units, pipeline.micro_batches);
  return played.last_gradient_ns / recorded->last_gradient_ns - 1;
}

/// Adds what the passes of the slowest pipeline take more, or refuses.
void add_passes(uint32_t to, ReplayContext const& context, ReplayWeights const& weights,
                AppliedChange& applied) {
  RecordedGraph const graph{context.graph, context.recorded, context.collectives};
  double most_now = 0, most_then = 0, largest_error = 0;
  for (PipelineStats const& pipeline : context.pipelines) {
    auto const error = schedule_error(pipeline, context);
    auto const units = measure_units(pipeline, graph, weights);
    if (!error || !units) {
      applied.refusal = "forward and backward passes of the stages cannot be told apart";
      return;
    }

    if (std::abs(*error) > std::abs(largest_error)) largest_error = *error;
    double const as_recorded = 1 / (1 + *error);
    most_now = std::max(most_now,
                        play_pipeline(units->units, pipeline.micro_batches).end_ns * as_recorded);
    most_then = std::max(most_then, play_pipeline(units->units, to).end_ns * as_recorded);
  }

  if (std::abs(largest_error) > kReplayRefusal)
    applied.refusal = fmt::format(
        "the schedule of the recorded micro-batches comes out {:+.1f} % off: something besides "
        "passes and messages decides how long they take",
        largest_error * 100);
  else if (std::abs(largest_error) > kReplayCaution)
    applied.cautions.push_back(fmt::format(
        "the schedule of the recorded micro-batches comes out {:+.1f} % off", largest_error * 100));
  applied.added_ns = most_then - most_now;
}

}  // namespace

AppliedChange change_micro_batches(WhatIfChange const& change, ReplayContext const& context,
                                   ReplayWeights& weights) {
  AppliedChange applied;
  if (context.pipelines.empty()) {
    applied.select_nothing("the run has no pipeline whose stages hand on micro-batches");
    return applied;
  }
  uint32_t const now = context.pipelines.front().micro_batches;
  bool const is_one_number =
      std::all_of(context.pipelines.begin(), context.pipelines.end(),
                  [&](PipelineStats const& pipeline) { return pipeline.micro_batches == now; });
  if (now < 2 || !is_one_number) {
    applied.refusal = now < 2 ? "the pipeline has one micro-batch a step, which tells no schedule"
                              : "the run's pipelines have different numbers of micro-batches";
    return applied;
  }

  if (change.keeps_batch && change.micro_batches != now)
    change_size(now, change.micro_batches, context, weights, applied);
  if (applied.refusal.empty()) add_passes(change.micro_batches, context, weights, applied);
  if (!applied.refusal.empty()) return applied;

  for (PipelineStats const& pipeline : context.pipelines)
    applied.changed += pipeline.stages.size() * change.micro_batches;
  if (!change.keeps_batch)
    applied.cautions.push_back(
        fmt::format("a step does {:.2f} times its work: with {} micro-batches in place of {}",
                    static_cast<double>(change.micro_batches) / now, change.micro_batches, now));
  return applied;
}

}  // namespace stepscope::analyzer
