#include "analyzer/whatif/whatif.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

#include "analyzer/metrics/critical_path/path_part.h"
#include "analyzer/metrics/steps/measured_steps.h"
#include "analyzer/metrics/steps/step_detection.h"
#include "analyzer/metrics/work/kernels.h"
#include "analyzer/rules/finding_order.h"
#include "analyzer/whatif/changes/apply_change.h"
#include "analyzer/whatif/replay/replay.h"

namespace stepscope::analyzer {
namespace {

/// What is replayed: all of a run, or its middle steps.
struct ReplayPart {
  model::Run const* run = nullptr;
  std::shared_ptr<model::Run const> owned;  ///< where the part was read
  std::vector<DeviceOps> devices;           ///< of `run`
  HostSteps host_steps;
  std::vector<CollectiveStats> collectives;  ///< with rows of `run`
  std::vector<DeviceStats> chosen;
  std::vector<std::vector<Interval>> periods;  ///< measured, beside `chosen`
  bool is_all = true;
};

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
  if (steps.size() < 2) return 0;

  double const middle = mean(steps);
  double squares = 0;
  for (double const length : steps) squares += (length - middle) * (length - middle);
  auto const count = static_cast<double>(steps.size());
  constexpr double kNormal95 = 1.96;
  double const half = kNormal95 * std::sqrt(squares / (count - 1) / count);
  return middle > 0 ? half / middle : 0;
}

/// The measured periods of the chosen devices that end in their windows.
std::vector<std::vector<Interval>> periods_in(Analysis const& analysis,
                                              std::vector<DeviceStats> const& chosen) {
  auto const all = measured_periods(analysis);
  std::vector<std::vector<Interval>> periods(chosen.size());

  for (size_t c = 0; c < chosen.size(); ++c) {
    for (size_t d = 0; d < analysis.devices.size(); ++d) {
      if (analysis.devices[d].ref != chosen[c].ref) continue;
      for (MeasuredPeriod const& period : all[d])
        if (period.when.end > chosen[c].window.begin && period.when.end <= chosen[c].window.end)
          periods[c].push_back(period.when);
    }
  }
  return periods;
}

/// The part of the chosen processes' events that is not more than `most`, at most 1.
double part_within(model::Run const& skeleton, std::vector<bool> const& is_chosen, uint64_t most) {
  uint64_t const events = chosen_events(skeleton, is_chosen);
  return events <= most ? 1 : static_cast<double>(most) / static_cast<double>(events);
}

/// `steps`: of the run. `share`: how much of it, at most 1.
base::Expected<ReplayPart> read_part(StreamedRun const& run, HostSteps const& steps,
                                     Analysis const& analysis, double share) {
  std::vector<bool> const is_chosen = chosen_for_path(run.skeleton, analysis);
  PathPart const chosen = choose_part(analysis, share);
  ReplayPart part;
  part.is_all = chosen.is_all;
  part.chosen = chosen.devices;
  if (part.chosen.empty()) return part;

  Interval const range = part.is_all ? kAllTime : range_of(chosen);
  auto read = read_range(run, is_chosen, range, {});
  if (!read) return base::fail_with(read);
  part.owned = std::make_shared<model::Run const>(std::move(*read));
  part.run = part.owned.get();

  part.devices = index_devices(*part.run);
  part.host_steps = steps;
  part.collectives =
      part.is_all
          ? collectives_of_whole(analysis.collectives, index_devices(run.skeleton), part.devices)
          : collectives_in_range(analysis.collectives, part.devices, is_chosen, range);
  part.periods = periods_in(analysis, part.chosen);
  return part;
}

ReplayPart whole_part(model::Run const& run, HostSteps const& steps, Analysis const& analysis) {
  ReplayPart part;
  part.run = &run;
  part.devices = index_devices(run);
  part.host_steps = steps;
  part.collectives = analysis.collectives;
  for (DeviceStats const& device : analysis.devices)
    part.chosen.push_back(facts_for_path(device, device.window));
  part.periods = periods_in(analysis, part.chosen);
  return part;
}

/// A run that is replayed, as recorded and with changes.
class ReplayedRun {
 public:
  /// `probe`: ratios of a second run; null: there is none.
  ReplayedRun(ReplayPart const& part, Analysis const& analysis, WorkRatios const* probe = nullptr)
      : part_(part),
        analysis_(analysis),
        probe_(probe),
        graph_(make_replay_graph(
            {part.devices, part.host_steps, part.collectives, part.chosen, part.periods})) {
    measure();
  }

  [[nodiscard]] ReplayBaseline const& baseline() const { return baseline_; }
  [[nodiscard]] PathSplit const& path() const { return path_; }

  /// All of the changes at once.
  [[nodiscard]] WhatIfAnswer answer(std::vector<WhatIfChange> const& changes) const {
    WhatIfAnswer answer;
    for (WhatIfChange const& change : changes)
      answer.change += fmt::format("{}{}", answer.change.empty() ? "" : " + ", change.text);
    if (baseline_.is_refused) return refused(std::move(answer), baseline_.reason);

    Prediction predicted{graph_.recorded, {}, 0};
    for (WhatIfChange const* const change : in_order(changes)) {
      std::string reason = unpredictable(*change);
      if (reason.empty()) reason = add_change(*change, predicted, answer);
      if (reason.empty()) continue;
      return refused(std::move(answer), changes.size() > 1
                                            ? fmt::format("{}: {}", change->text, reason)
                                            : std::move(reason));
    }

    fill(predicted, answer);
    for (ReplayWeights const& bound : predicted.bounds) widen(bound, predicted.added_ns, answer);
    return answer;
  }

 private:
  /// What all changes so far make of the run.
  struct Prediction {
    ReplayWeights weights;
    std::vector<ReplayWeights> bounds;
    double added_ns = 0;  ///< to a step
  };

  /// As they are written, but micro-batches last: what they add depends on all others.
  static std::vector<WhatIfChange const*> in_order(std::vector<WhatIfChange> const& changes) {
    std::vector<WhatIfChange const*> ordered;
    for (WhatIfChange const& change : changes) ordered.push_back(&change);
    std::stable_partition(ordered.begin(), ordered.end(), [](WhatIfChange const* change) {
      return change->kind != ChangeKind::kMicroBatches;
    });
    return ordered;
  }

  /// Returns why there is no answer; empty where there is one.
  std::string add_change(WhatIfChange const& change, Prediction& predicted,
                         WhatIfAnswer& answer) const {
    ReplayContext const context{graph_,          recorded_,           part_.collectives,
                                analysis_.links, analysis_.pipelines, analysis_.ops,
                                probe_};
    AppliedChange applied = apply_change(change, context, predicted.weights);
    if (!applied.refusal.empty()) return std::move(applied.refusal);

    answer.changed += applied.changed;
    predicted.added_ns += applied.added_ns;
    for (ReplayWeights& bound : predicted.bounds) apply_change(change, context, bound);
    if (!applied.bounds.empty()) predicted.bounds = std::move(applied.bounds);
    for (std::string& caution : applied.cautions) answer.cautions.push_back(std::move(caution));
    return {};
  }

  static WhatIfAnswer refused(WhatIfAnswer answer, std::string reason) {
    answer.is_refused = true;
    answer.reason = std::move(reason);
    return answer;
  }

  /// Why no replay can show what a change gives on these devices; empty where one can.
  [[nodiscard]] std::string unpredictable(WhatIfChange const& change) const {
    bool const frees_threads =
        change.kind == ChangeKind::kSync || change.kind == ChangeKind::kLaunch;
    bool const has_host_devices =
        std::any_of(part_.devices.begin(), part_.devices.end(),
                    [](DeviceOps const& device) { return is_host_device(device.name); });
    if (!frees_threads || !has_host_devices) return {};
    return "the devices are threads of the host: what one of them no longer does, the others have "
           "the cores for";
  }

  /// The run as recorded, and with typical delays.
  void measure() {
    baseline_.is_part = !part_.is_all;
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
                      baseline_.error * 100));
  }

  void refuse(std::string reason) {
    baseline_.is_refused = true;
    baseline_.reason = std::move(reason);
  }

  void fill(Prediction const& predicted, WhatIfAnswer& answer) const {
    ReplayWeights const& weights = predicted.weights;
    ReplayTimes const times = replay(graph_, weights.own, weights.lag, weights.source);
    std::vector<double> const lengths = step_lengths(graph_, times);
    double const replayed_ns = mean(lengths);
    answer.step_ns = std::max(replayed_ns + predicted.added_ns, 0.0);
    answer.gain = answer.step_ns > 0 ? baseline_.step_ns / answer.step_ns - 1 : 0;

    // What the replay misses and what steps vary by have nothing to do with each other.
    double const share =
        std::hypot(baseline_.error, std::max(spread_of(graph_, lengths), baseline_.spread));
    answer.low_ns = answer.step_ns * (1 - share);
    answer.high_ns = answer.step_ns * (1 + share);

    ReplayPath const path = replay_path(graph_, weights, times);
    answer.path = path.of_step;
    if (predicted.added_ns != 0 && replayed_ns > 0)
      for (int64_t& ns : answer.path)
        ns = std::llround(static_cast<double>(ns) * answer.step_ns / replayed_ns);
    answer.next_class = path.most;
    answer.next = path.most_name;
    if (std::abs(baseline_.error) > kReplayCaution)
      answer.cautions.push_back(fmt::format(
          "the replay of the unchanged run misses its step by {:.1f} %", baseline_.error * 100));
  }

  /// The interval takes in what the step would be with these weights.
  void widen(ReplayWeights const& weights, double added_ns, WhatIfAnswer& answer) const {
    ReplayTimes const times = replay(graph_, weights.own, weights.lag, weights.source);
    double const step_ns = std::max(mean(step_lengths(graph_, times)) + added_ns, 0.0);
    double const below = answer.step_ns - answer.low_ns, above = answer.high_ns - answer.step_ns;
    answer.low_ns = std::min(answer.low_ns, step_ns - below);
    answer.high_ns = std::max(answer.high_ns, step_ns + above);
  }

  ReplayPart const& part_;
  Analysis const& analysis_;
  WorkRatios const* probe_;
  ReplayGraph graph_;
  ReplayTimes recorded_;
  ReplayBaseline baseline_;
  PathSplit path_{};
};

/// Each finding's fix alone. Then one after the other, in each round the one that gives most.
/// The step with a fix, as far as its finding promises one. A change may do more than what was
/// found: a CUDA graph takes all of the host's work. It must not come first for that.
double promised_step_ns(Finding const& finding, double answered_ns, double before_ns) {
  return std::max(
      answered_ns,
      before_ns / (1 + finding.gain_ceiling.value_or(std::numeric_limits<double>::infinity())));
}

std::vector<WhatIfFix> find_fixes(ReplayedRun const& run, model::Run const& traces,
                                  Analysis const& analysis) {
  std::vector<WhatIfFix> open, fixes, refused;
  std::vector<std::vector<WhatIfChange>> remedies(analysis.findings.size());
  for (size_t i = 0; i < analysis.findings.size(); ++i) {
    Remedy remedy = remedy_of(analysis.findings[i], traces, analysis);
    WhatIfFix fix{i, {}, {}};
    if (remedy.changes.empty()) {
      if (remedy.reason.empty()) continue;
      fix.alone.is_refused = true;
      fix.alone.reason = remedy.reason;
    } else {
      fix.alone = run.answer(remedy.changes);
    }
    remedies[i] = std::move(remedy.changes);
    (fix.alone.is_refused ? refused : open).push_back(std::move(fix));
  }

  std::vector<WhatIfChange> above;
  double step_ns = run.baseline().step_ns;
  while (!open.empty()) {
    size_t best = 0;
    double best_ns = std::numeric_limits<double>::infinity();
    std::optional<WhatIfAnswer> best_answer;
    for (size_t i = 0; i < open.size(); ++i) {
      std::vector<WhatIfChange> all = above;
      all.insert(all.end(), remedies[open[i].finding].begin(), remedies[open[i].finding].end());
      WhatIfAnswer answer = run.answer(all);
      double const promised_ns =
          promised_step_ns(analysis.findings[open[i].finding], answer.step_ns, step_ns);
      if (answer.is_refused || (best_answer && promised_ns >= best_ns)) continue;
      best = i;
      best_ns = promised_ns;
      best_answer = std::move(answer);
    }

    if (!best_answer) break;
    auto const& taken = remedies[open[best].finding];
    above.insert(above.end(), taken.begin(), taken.end());
    best_answer->gain = best_answer->step_ns > 0 ? step_ns / best_answer->step_ns - 1 : 0;
    step_ns = best_answer->step_ns;
    open[best].in_sequence = std::move(best_answer);
    fixes.push_back(std::move(open[best]));
    open.erase(open.begin() + static_cast<ptrdiff_t>(best));
  }

  // What cannot be joined with the fixes above stays with its own gain.
  fixes.insert(fixes.end(), std::make_move_iterator(open.begin()),
               std::make_move_iterator(open.end()));
  fixes.insert(fixes.end(), std::make_move_iterator(refused.begin()),
               std::make_move_iterator(refused.end()));
  return fixes;
}

/// `part`: of the run `whole`.
WhatIfStats ask(ReplayPart const& part, model::Run const& whole, Analysis const& analysis,
                WhatIfQuestion const& question) {
  std::optional<WorkRatios> probe;
  if (question.probe) probe = compare_work(probe_of(whole, analysis), *question.probe);
  ReplayedRun const run(part, analysis, probe ? &*probe : nullptr);
  WhatIfStats stats;
  stats.baseline = run.baseline();
  stats.path = run.path();

  if (question.wants_fixes) stats.fixes = find_fixes(run, *part.run, analysis);
  for (std::vector<WhatIfChange> const& changes : question.changes)
    stats.answers.push_back(run.answer(changes));
  return stats;
}

bool is_any_remedy_known(model::Run const& run, Analysis const& analysis) {
  return std::any_of(
      analysis.findings.begin(), analysis.findings.end(),
      [&](Finding const& finding) { return !remedy_of(finding, run, analysis).changes.empty(); });
}

/// A host that is late has many reasons, and so has a late rank. A change that gives far less than
/// what the finding costs does not undo what was found: it says nothing about the fix.
bool misses_the_cause(Finding const& finding, WhatIfAnswer const& alone) {
  constexpr std::array<std::string_view, 3> kManyReasons = {"host-bound-launches", "launch-latency",
                                                            "straggler"};
  constexpr double kLeastPart = 0.5;
  bool const has_many =
      std::find(kManyReasons.begin(), kManyReasons.end(), finding.rule) != kManyReasons.end();
  return has_many && (!finding.gain_ceiling || alone.gain < kLeastPart * *finding.gain_ceiling);
}

/// A critical path that is host work for the most part is a guess at what limits the program. A
/// replay in which a faster device gives most of what it could is not.
void drop_disproved_bottleneck(Finding& finding) {
  constexpr double kMost = 0.5;
  auto const share = std::find_if(finding.metrics.begin(), finding.metrics.end(),
                                  [](auto const& metric) { return metric.first == "share"; });
  if (!finding.gain_alone || share == finding.metrics.end() || share->second >= 1) return;

  double const most = 1 / (1 - share->second) - 1;
  if (*finding.gain_alone >= kMost * most)
    std::erase_if(finding.subjects, [](auto const& subject) {
      return subject.first == "bottleneck" && subject.second == "host";
    });
}

/// What each fix gives by itself.
void fill_gains_alone(ReplayedRun const& run, ReplayPart const& part, Analysis& analysis) {
  for (Finding& finding : analysis.findings) {
    Remedy const remedy = remedy_of(finding, *part.run, analysis);
    if (remedy.changes.empty()) continue;
    WhatIfAnswer const alone = run.answer(remedy.changes);
    if (alone.is_refused || misses_the_cause(finding, alone)) continue;

    // A change may do more than the remedy of what was found: graphs take all of a host's work.
    double const most = finding.gain_ceiling.value_or(std::numeric_limits<double>::infinity());
    finding.gain_alone = std::clamp(alone.gain, 0.0, std::max(most, 0.0));
    drop_disproved_bottleneck(finding);
  }
}

void fill_gains(ReplayPart const& part, Analysis& analysis) {
  ReplayedRun const run(part, analysis);
  if (run.baseline().is_refused) return;
  fill_gains_alone(run, part, analysis);
  order_by_replay(analysis.findings);

  std::vector<WhatIfChange> above;
  double step_ns = run.baseline().step_ns;
  for (Finding& finding : analysis.findings) {
    if (!finding.gain_alone) continue;
    Remedy const remedy = remedy_of(finding, *part.run, analysis);

    std::vector<WhatIfChange> with_above = above;
    with_above.insert(with_above.end(), remedy.changes.begin(), remedy.changes.end());
    WhatIfAnswer const after = run.answer(with_above);
    if (after.is_refused || after.step_ns <= 0) continue;
    finding.gain_after_above =
        above.empty() ? *finding.gain_alone : std::max(step_ns / after.step_ns - 1, 0.0);
    above = std::move(with_above);
    step_ns = after.step_ns;
  }
}

}  // namespace

base::Expected<WhatIfStats> what_if(StreamedRun const& run, Analysis const& analysis,
                                    WhatIfQuestion const& question) {
  HostSteps const steps = find_steps(run.skeleton, index_devices(run.skeleton));
  double const share = part_of_path(run.skeleton, chosen_for_path(run.skeleton, analysis));
  auto const part = read_part(run, steps, analysis, share);
  if (!part) return base::fail_with(part);
  return ask(*part, run.skeleton, analysis, question);
}

WhatIfStats what_if(model::Run const& run, Analysis const& analysis,
                    WhatIfQuestion const& question) {
  if (!is_path_of_all(run, analysis)) return *what_if(streamed_in_memory(run), analysis, question);
  ReplayPart const part = whole_part(run, find_steps(run, index_devices(run)), analysis);
  return ask(part, run, analysis, question);
}

void find_replayed_gains(model::Run const& run, HostSteps const& steps, Analysis& analysis) {
  bool const is_whole = part_within(run, chosen_for_path(run, analysis), kMostGainEvents) >= 1;
  if (!is_whole)
    static_cast<void>(
        find_replayed_gains(streamed_in_memory(run), steps, analysis));  // memory never fails
  else if (is_any_remedy_known(run, analysis))
    fill_gains(whole_part(run, steps, analysis), analysis);
}

base::Expected<void> find_replayed_gains(StreamedRun const& run, HostSteps const& steps,
                                         Analysis& analysis) {
  if (!is_any_remedy_known(run.skeleton, analysis)) return {};
  double const share =
      part_within(run.skeleton, chosen_for_path(run.skeleton, analysis), kMostGainEvents);
  auto const part = read_part(run, steps, analysis, share);
  if (!part) return base::fail_with(part);
  fill_gains(*part, analysis);
  return {};
}

}  // namespace stepscope::analyzer
