#include "analyzer/whatif/replay_session.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "analyzer/metrics/critical_path/path_part.h"
#include "analyzer/metrics/steps/step_detection.h"
#include "analyzer/metrics/work/kernels.h"
#include "analyzer/rules/sums.h"
#include "analyzer/whatif/changes/apply_change.h"
#include "analyzer/whatif/missing_work.h"

namespace stepscope::analyzer {
namespace {

double mean(std::vector<double> const& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Half of the 95 % interval of the mean step, as its share. Devices that work together have one
/// length a step, however many they are.
double spread_of(ReplayGraph const& graph, std::vector<double> const& lengths) {
  std::map<int64_t, std::vector<double>> of_number;
  size_t next = 0;
  for (ReplayStep const& step : graph.steps)
    if (step.is_measured) of_number[step.step].push_back(lengths[next++]);
  std::vector<double> steps;
  for (auto const& [number, of_devices] : of_number) steps.push_back(mean(of_devices));
  if (steps.size() < 2) return std::nan("");

  double const middle = mean(steps);
  double squares = 0;
  for (double const length : steps) squares += (length - middle) * (length - middle);
  auto const count = static_cast<double>(steps.size());
  constexpr double kNormal95 = 1.96;
  double const half = kNormal95 * std::sqrt(squares / (count - 1) / count);
  return middle > 0 ? half / middle : 0;
}

WhatIfAnswer refused(WhatIfAnswer answer, std::string reason) {
  answer.is_refused = true;
  answer.reason = std::move(reason);
  return answer;
}

std::string words_of(std::span<WhatIfChange const> changes) {
  std::string words;
  for (WhatIfChange const& change : changes)
    words += fmt::format("{}{}", words.empty() ? "" : " + ", change.text);
  return words;
}

/// As they are written, but micro-batches last: what they add depends on all others.
std::vector<WhatIfChange const*> in_order(std::span<WhatIfChange const> changes) {
  std::vector<WhatIfChange const*> ordered;
  for (WhatIfChange const& change : changes) ordered.push_back(&change);
  std::stable_partition(ordered.begin(), ordered.end(), [](WhatIfChange const* change) {
    return change->kind != ChangeKind::kMicroBatches;
  });
  return ordered;
}

}  // namespace

ReplaySession::ReplaySession(ReplayPart part, Analysis const& analysis,
                             std::optional<WorkRatios> probe)
    : part_(std::move(part)),
      analysis_(analysis),
      probe_(std::move(probe)),
      graph_(make_replay_graph(
          {part_.devices, part_.host_steps, part_.collectives, part_.chosen, part_.periods})) {
  measure();
}

WhatIfAnswer ReplaySession::answer(std::span<WhatIfChange const> changes) const {
  WhatIfAnswer answer;
  auto const changed = change(changes, answer);
  if (!changed) return answer;

  ReplayWeights const& weights = changed->weights;
  fill(*changed, replay(graph_, weights.own, weights.lag, weights.source), answer);
  for (ReplayWeights const& bound : changed->bounds) widen(bound, changed->added_ns, answer);
  return answer;
}

WhatIfPrediction ReplaySession::predict(std::span<WhatIfChange const> changes) const {
  WhatIfPrediction prediction;
  auto const changed = change(changes, prediction.answer);
  if (!changed) return prediction;

  ReplayWeights const& weights = changed->weights;
  ReplayTimes const times = replay(graph_, weights.own, weights.lag, weights.source);
  fill(*changed, times, prediction.answer);
  for (ReplayWeights const& bound : changed->bounds)
    widen(bound, changed->added_ns, prediction.answer);
  if (changed->added_ns == 0)
    prediction.timeline = predicted_timeline(graph_, weights, times, recorded_);
  return prediction;
}

std::optional<ReplaySession::ChangedWeights> ReplaySession::change(
    std::span<WhatIfChange const> changes, WhatIfAnswer& answer) const {
  answer.change = words_of(changes);
  if (baseline_.is_refused) {
    answer = refused(std::move(answer), baseline_.reason);
    return std::nullopt;
  }

  ChangedWeights changed{copy_weights(graph_.recorded), {}, 0, 0};
  for (WhatIfChange const* const change : in_order(changes)) {
    std::string reason = unpredictable(*change);
    if (reason.empty()) reason = add_change(*change, changed, answer);
    if (reason.empty()) continue;
    if (changes.size() > 1) reason = fmt::format("{}: {}", change->text, reason);
    answer = refused(std::move(answer), std::move(reason));
    return std::nullopt;
  }
  return changed;
}

/// Returns why there is no answer; empty where there is one.
std::string ReplaySession::add_change(WhatIfChange const& change, ChangedWeights& changed,
                                      WhatIfAnswer& answer) const {
  ReplayContext const context{graph_,
                              recorded_,
                              part_.collectives,
                              analysis_.links,
                              analysis_.pipelines,
                              analysis_.ops,
                              probe_ ? &*probe_ : nullptr};
  AppliedChange applied = apply_change(change, context, changed.weights);
  answer.selects_nothing = applied.selects_nothing;
  if (!applied.refusal.empty()) return std::move(applied.refusal);

  answer.changed += applied.changed;
  changed.added_ns += applied.added_ns;
  changed.error = std::hypot(changed.error, applied.error);
  for (ReplayWeights& bound : changed.bounds) apply_change(change, context, bound);
  if (!applied.bounds.empty()) changed.bounds = std::move(applied.bounds);
  for (std::string& caution : applied.cautions) answer.cautions.push_back(std::move(caution));
  return {};
}

/// Why no replay can show what a change gives on these devices; empty where one can.
std::string ReplaySession::unpredictable(WhatIfChange const& change) const {
  bool const frees_threads = change.kind == ChangeKind::kSync || change.kind == ChangeKind::kLaunch;
  bool const has_host_devices =
      std::any_of(part_.devices.begin(), part_.devices.end(),
                  [](DeviceOps const& device) { return is_host_device(device.name); });
  if (!frees_threads || !has_host_devices) return {};
  return "the devices are threads of the host: what one of them no longer does, the others have "
         "the cores for";
}

/// The run as recorded, and with typical delays.
void ReplaySession::measure() {
  baseline_.is_part = !part_.is_all;
  if (part_.run != nullptr) baseline_.cautions = missing_work(*part_.run, analysis_);
  if (part_.run != nullptr && is_of_sums(*part_.run)) {
    refuse(
        "a stream has sums of each step, whose order was not recorded: record a few steps whole");
    return;
  }
  if (!graph_.is_whole) {
    refuse("the records contradict each other: some work would wait for itself");
    return;
  }

  recorded_ = replay(graph_, graph_.recorded.own, graph_.recorded.lag);
  std::vector<double> const lengths = step_lengths(graph_, recorded_);
  if (lengths.empty()) {
    refuse(graph_.nodes.size() > 1 ? "no step is measured on any device: mark the program's steps"
                                   : "the run has no device work that could be replayed");
    return;
  }

  std::vector<double> const typical =
      step_lengths(graph_, replay(graph_, graph_.recorded.own, graph_.typical_lag));
  baseline_.step_ns = mean(lengths);
  baseline_.replayed_step_ns = mean(typical);
  if (analysis_.steps.empty())
    baseline_.cautions.emplace_back(
        "no whole step was recorded: a step is here all that was recorded of a device");
  else
    baseline_.steps = lengths.size();
  baseline_.spread = spread_of(graph_, lengths);
  if (baseline_.step_ns > 0) baseline_.error = baseline_.replayed_step_ns / baseline_.step_ns - 1;

  ReplayPath path = replay_path(graph_, graph_.recorded, recorded_);
  path_ = path.of_step;
  baseline_.residuals = std::move(path.residuals);
  if (std::abs(baseline_.error) > kReplayRefusal)
    refuse(
        fmt::format("the replay of the unchanged run misses its step by {:.1f} %: the recording "
                    "does not tell what much of the work waited for",
                    std::abs(baseline_.error) * 100));
}

void ReplaySession::refuse(std::string reason) {
  baseline_.is_refused = true;
  baseline_.reason = std::move(reason);
}

void ReplaySession::fill(ChangedWeights const& changed, ReplayTimes const& times,
                         WhatIfAnswer& answer) const {
  std::vector<double> const lengths = step_lengths(graph_, times);
  double const replayed_ns = mean(lengths);
  answer.step_ns = std::max(replayed_ns + changed.added_ns, 0.0);
  answer.gain = answer.step_ns > 0 ? baseline_.step_ns / answer.step_ns - 1 : 0;

  // What the replay misses and what steps vary by have nothing to do with each other.
  double const share = std::hypot(
      baseline_.error, std::max(spread_of(graph_, lengths), baseline_.spread), changed.error);
  answer.low_ns = answer.step_ns * (1 - share);
  answer.high_ns = answer.step_ns * (1 + share);

  ReplayPath const path = replay_path(graph_, changed.weights, times);
  answer.path = path.of_step;
  if (changed.added_ns != 0 && replayed_ns > 0)
    for (int64_t& ns : answer.path)
      ns = std::llround(static_cast<double>(ns) * answer.step_ns / replayed_ns);
  answer.next_class = path.most;
  answer.next = path.most_name;
  if (std::abs(baseline_.error) > kReplayCaution)
    answer.cautions.push_back(
        fmt::format("the replay of the unchanged run misses its step by {:.1f} %",
                    std::abs(baseline_.error) * 100));
  answer.cautions.insert(answer.cautions.end(), baseline_.cautions.begin(),
                         baseline_.cautions.end());
}

/// The interval takes in what the step would be with these weights.
void ReplaySession::widen(ReplayWeights const& weights, double added_ns,
                          WhatIfAnswer& answer) const {
  ReplayTimes const times = replay(graph_, weights.own, weights.lag, weights.source);
  double const step_ns = std::max(mean(step_lengths(graph_, times)) + added_ns, 0.0);
  double const below = answer.step_ns - answer.low_ns, above = answer.high_ns - answer.step_ns;
  answer.low_ns = std::min(answer.low_ns, step_ns - below);
  answer.high_ns = std::max(answer.high_ns, step_ns + above);
}

base::Expected<std::unique_ptr<ReplaySession const>> open_replay(StreamedRun const& run,
                                                                 Analysis const& analysis,
                                                                 std::optional<WorkRatios> probe) {
  HostSteps const steps = find_steps(run.skeleton, index_devices(run.skeleton));
  double const share = part_of_path(run.skeleton, chosen_for_path(run.skeleton, analysis));
  auto part = read_part(run, steps, analysis, share);
  if (!part) return base::fail_with(part);
  return std::make_unique<ReplaySession const>(std::move(*part), analysis, std::move(probe));
}

std::unique_ptr<ReplaySession const> open_replay(model::Run const& run, Analysis const& analysis,
                                                 std::optional<WorkRatios> probe) {
  // Memory never fails.
  if (!is_path_of_all(run, analysis))
    return *open_replay(streamed_in_memory(run), analysis, std::move(probe));
  HostSteps const steps = find_steps(run, index_devices(run));
  return std::make_unique<ReplaySession const>(whole_part(run, steps, analysis), analysis,
                                               std::move(probe));
}

}  // namespace stepscope::analyzer
