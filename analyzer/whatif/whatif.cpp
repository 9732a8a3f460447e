#include "analyzer/whatif/whatif.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "analyzer/metrics/critical_path/path_part.h"
#include "analyzer/metrics/steps/step_detection.h"
#include "analyzer/rules/finding_order.h"
#include "analyzer/rules/rule.h"
#include "analyzer/whatif/replay_part.h"
#include "analyzer/whatif/replay_session.h"

namespace stepscope::analyzer {
namespace {

WhatIfStats ask(ReplaySession const& session, WhatIfQuestion const& question) {
  WhatIfStats stats;
  stats.baseline = session.baseline();
  stats.path = session.path();

  if (question.wants_fixes) stats.fixes = find_fixes(session);
  for (std::vector<WhatIfChange> const& changes : question.changes)
    stats.answers.push_back(session.answer(changes));
  return stats;
}

std::optional<WorkRatios> ratios_of_probe(model::Run const& run, Analysis const& analysis,
                                          WhatIfQuestion const& question) {
  if (!question.probe) return std::nullopt;
  return compare_work(probe_of(run, analysis), *question.probe);
}

bool is_any_remedy_known(model::Run const& run, Analysis const& analysis) {
  return std::any_of(
      analysis.findings.begin(), analysis.findings.end(),
      [&](Finding const& finding) { return !remedy_of(finding, run, analysis).changes.empty(); });
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

/// A long stage of a pipeline computes longer than the others, but part of that fills the time that
/// its schedule has it wait anyway. The replay tells how much. Returns whether it costs less than
/// was thought.
bool limit_cost_of_stage(Finding& finding) {
  auto const metric = [&](std::string_view key) {
    return std::find_if(finding.metrics.begin(), finding.metrics.end(),
                        [&](auto const& each) { return each.first == key; });
  };
  bool const is_stage =
      finding.rule == "straggler" && metric("share_of_waits") == finding.metrics.end();
  auto const step_ns = metric("step_ns"), share = metric("share");
  bool const is_known = finding.gain_alone && finding.cost_ns_per_step &&
                        step_ns != finding.metrics.end() && share != finding.metrics.end();
  if (!is_stage || !is_known) return false;

  double const saved = *finding.gain_alone / (1 + *finding.gain_alone);
  if (saved >= share->second) return false;
  share->second = saved;
  finding.cost_ns_per_step = std::llround(saved * step_ns->second);
  finding.severity = std::min(finding.severity, severity_of_share(saved));
  return true;
}

/// A finding that costs less than was thought goes behind those that are graver or cost more. The
/// others stay in their order.
void sink_cheaper_stage(std::vector<Finding>& findings) {
  auto const is_stage = [](Finding const& finding) { return finding.rule == "straggler"; };
  auto at = std::find_if(findings.begin(), findings.end(), is_stage);

  for (; at != findings.end() && std::next(at) != findings.end(); ++at) {
    Finding const& next = *std::next(at);
    bool const is_worse = next.severity != at->severity ? next.severity > at->severity
                                                        : next.cost_ns_per_step.value_or(0) >
                                                              at->cost_ns_per_step.value_or(0);
    if (!is_worse) return;
    std::iter_swap(at, std::next(at));
  }
}

/// Most of the cost comes before all that was recorded: a replay cannot shorten it, and that it
/// does not is no gain of nothing.
bool is_before_recording(Finding const& finding) {
  constexpr double kMost = 0.5;
  double before = 0;
  for (auto const& [name, value] : finding.metrics)
    if (name == "before_first_op_ns_per_step") before = value;
  return before > kMost * static_cast<double>(finding.cost_ns_per_step.value_or(0));
}

/// What each fix gives by itself.
void fill_gains_alone(ReplaySession const& run, Analysis& analysis) {
  bool is_cheaper = false;
  for (Finding& finding : analysis.findings) {
    Remedy const remedy = remedy_of(finding, *run.part().run, analysis);
    if (remedy.changes.empty()) continue;
    WhatIfAnswer const alone = run.answer(remedy.changes);
    if (alone.is_refused || misses_the_cause(finding, alone)) continue;
    constexpr double kLeastKnown = 0.005;
    if (alone.gain < kLeastKnown && is_before_recording(finding)) continue;

    // A change may do more than the remedy of what was found: graphs take all of a host's work.
    double const most = finding.gain_ceiling.value_or(std::numeric_limits<double>::infinity());
    finding.gain_alone = std::clamp(alone.gain, 0.0, std::max(most, 0.0));
    drop_disproved_bottleneck(finding);
    is_cheaper = limit_cost_of_stage(finding) || is_cheaper;
  }
  if (is_cheaper) sink_cheaper_stage(analysis.findings);
}

void fill_gains(ReplayPart part, Analysis& analysis) {
  ReplaySession const run(std::move(part), analysis);
  if (run.baseline().is_refused) return;
  fill_gains_alone(run, analysis);
  order_by_replay(analysis.findings);

  std::vector<WhatIfChange> above;
  double step_ns = run.baseline().step_ns;
  for (Finding& finding : analysis.findings) {
    if (!finding.gain_alone) continue;
    Remedy const remedy = remedy_of(finding, *run.part().run, analysis);

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

base::Expected<WhatIfQuestion> question_of(std::span<std::string const> changes, bool is_together) {
  WhatIfQuestion question;
  for (std::string const& text : changes) {
    auto change = parse_change(text);
    if (!change) return base::fail_with(change);
    if (question.changes.empty() || !is_together) question.changes.emplace_back();
    question.changes.back().push_back(std::move(*change));
  }

  for (std::vector<WhatIfChange> const& together : question.changes)
    if (auto const good = check_together(together); !good) return base::fail_with(good);
  return question;
}

base::Expected<WhatIfStats> what_if(StreamedRun const& run, Analysis const& analysis,
                                    WhatIfQuestion const& question) {
  auto const session =
      open_replay(run, analysis, ratios_of_probe(run.skeleton, analysis, question));
  if (!session) return base::fail_with(session);
  return ask(**session, question);
}

WhatIfStats what_if(model::Run const& run, Analysis const& analysis,
                    WhatIfQuestion const& question) {
  return ask(*open_replay(run, analysis, ratios_of_probe(run, analysis, question)), question);
}

void find_replayed_gains(model::Run const& run, HostSteps const& steps, Analysis& analysis) {
  bool const is_whole = part_within(run, chosen_for_path(run, analysis), kMostGainEvents) >= 1;
  if (!is_whole)
    static_cast<void>(
        find_replayed_gains(streamed_in_memory(run), steps, analysis, {}));  // memory never fails
  else if (is_any_remedy_known(run, analysis))
    fill_gains(whole_part(run, steps, analysis), analysis);
}

base::Expected<void> find_replayed_gains(StreamedRun const& run, HostSteps const& steps,
                                         Analysis& analysis, ReadRange before) {
  if (!is_any_remedy_known(run.skeleton, analysis)) return {};
  double const share =
      part_within(run.skeleton, chosen_for_path(run.skeleton, analysis), kMostGainEvents);
  auto part = read_part(run, steps, analysis, share, std::move(before));
  if (!part) return base::fail_with(part);
  fill_gains(std::move(*part), analysis);
  return {};
}

}  // namespace stepscope::analyzer
