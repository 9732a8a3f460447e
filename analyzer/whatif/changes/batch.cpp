// Another number of samples a step: kernels, messages and copies of batches work on more or less at
// once. A second run tells how they depend on it, and its step tells how much that explains.
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/work.h"

namespace stepscope::analyzer {
namespace {

/// Calls of kernels a step may differ by this share between the runs, such as by those of an
/// optimizer that runs now and then.
constexpr double kOtherCalls = 0.02;

void change_samples(double probe_work, double work, ReplayContext const& context,
                    ReplayWeights& weights, AppliedChange& applied) {
  change_work({&WorkRatios::Kernel::call, probe_work, work}, context, weights, applied);
  change_messages(probe_work, work, context, weights, applied);
  change_batch_copies(work, context, weights);
}

double mean_step_ns(ReplayGraph const& graph, ReplayTimes const& times) {
  std::vector<double> const steps = step_lengths(graph, times);
  return std::accumulate(steps.begin(), steps.end(), 0.0) /
         static_cast<double>(std::max<size_t>(steps.size(), 1));
}

/// How far the replay with the probe's batch misses the probe's step, as its share.
double missed_by_replay(double probe_work, ReplayContext const& context) {
  ReplayGraph const& graph = context.graph;
  ReplayWeights weights = copy_weights(graph.recorded);
  AppliedChange applied;
  change_samples(probe_work, probe_work, context, weights, applied);

  ReplayTimes const times = replay(graph, weights.own, weights.lag, weights.source);
  double const replayed = mean_step_ns(graph, times) / mean_step_ns(graph, context.recorded);
  return replayed / context.probe->step - 1;
}

/// Why the two runs do not tell; empty: they do.
std::string unlike_runs(WorkRatios const* probe) {
  if (probe == nullptr)
    return "one run does not tell what kernels take with another batch: give a second run, with "
           "another batch, with --probe RUN";
  if (probe->devices != probe->probe_devices)
    return fmt::format("the probe has {} devices: give a run on {}, as the run itself",
                       probe->probe_devices, probe->devices);
  if (probe->kernels.empty() || probe->step <= 0)
    return "the probe has no kernel of the run: give a run of the same program with only the batch "
           "changed";

  double const calls = probe->all.step / probe->all.call;
  if (std::abs(calls - 1) > kOtherCalls)
    return fmt::format(
        "the probe calls its kernels {:.2f} times as often in a step: give a run in which each "
        "call works on another number of samples, and nothing else is changed",
        calls);
  return {};
}

}  // namespace

AppliedChange change_batch(WhatIfChange const& change, ReplayContext const& context,
                           ReplayWeights& weights) {
  AppliedChange applied;
  applied.refusal = unlike_runs(context.probe);
  if (!applied.refusal.empty()) return applied;

  double const probe_work = change.batch.probe / change.batch.run;
  double const work = change.batch.asked / change.batch.run;
  change_samples(probe_work, work, context, weights, applied);
  if (!applied.refusal.empty()) return applied;

  double const missed = missed_by_replay(probe_work, context);
  if (!(std::abs(missed) <= kReplayRefusal)) {
    applied.refusal = fmt::format(
        "with the probe's batch the replay misses the probe's step by {:.1f} %: more than kernels, "
        "messages and copies changes with the batch, such as the wait for input",
        missed * 100);
    return applied;
  }

  if (std::abs(missed) > kReplayCaution)
    applied.cautions.push_back(fmt::format(
        "with the probe's batch the replay misses the probe's step by {:.1f} %", missed * 100));
  applied.error = std::abs(missed * (work - 1) / (probe_work - 1));
  return applied;
}

}  // namespace stepscope::analyzer
