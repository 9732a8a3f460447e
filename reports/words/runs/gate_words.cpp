#include "reports/words/runs/gate_words.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "reports/words/labels.h"
#include "reports/words/runs/comparison_words.h"
#include "trace/base/format.h"
#include "trace/base/shell_word.h"

namespace stepscope::reports {
namespace {

using analyzer::BudgetCheck;
using analyzer::BudgetFact;
using analyzer::FactUnit;
using analyzer::GateAnswer;
using analyzer::GateQuestion;
using analyzer::GateResult;
using analyzer::GateVerdict;
using analyzer::Metric;

/// Names of workloads and labels of runs.
constexpr size_t kMostLabelBytes = 80;
/// Limit for paths of written files, long enough to open them.
constexpr size_t kMostPathBytes = 300;

std::string gate_duration(double ns) {
  return base::format_duration(std::llround(std::clamp(ns, -9e18, 9e18)));
}

std::string gate_bytes(double bytes) {
  return base::format_bytes(static_cast<uint64_t>(std::clamp(bytes, 0.0, 1e18)));
}

std::string amount_of(Metric const& metric, double value) {
  return metric.family == analyzer::MetricFamily::kMemory ? gate_bytes(value)
                                                          : gate_duration(value);
}

/// "0.042 %": noise is often less than a tenth of a percent.
std::string fine_share(double share) { return base::format_significant(share * 100, 2) + " %"; }

Metric const& metric_of(GateResult const& result, GateAnswer const& answer) {
  return result.comparison->metrics[answer.index];
}
BudgetCheck const& budget_of(GateResult const& result, GateAnswer const& answer) {
  return result.budgets[answer.index];
}
BudgetFact const& fact_of(BudgetCheck const& check) {
  return *analyzer::find_budget_fact(check.budget.fact);
}

std::string_view unit_of(FactUnit unit) {
  switch (unit) {
    case FactUnit::kMilliseconds:
      return " ms";
    case FactUnit::kShare:
      return " %";
    case FactUnit::kGigabytes:
      return " GB";
    case FactUnit::kGibibytes:
      return " GiB";
    case FactUnit::kCount:
      break;
  }
  return {};
}

/// Four digits, or as many as it takes to see on which side of the limit the value is.
std::string budget_value(BudgetCheck const& check, double value) {
  BudgetFact const& fact = fact_of(check);
  double const scale = fact.unit == FactUnit::kShare ? 100 : 1;
  constexpr int kFewestDigits = 4, kMostDigits = 12;

  std::string text;
  for (int digits = kFewestDigits; digits <= kMostDigits; ++digits) {
    text = fmt::format("{:.{}g}", value * scale, digits);
    if (value == check.budget.limit ||
        text != fmt::format("{:.{}g}", check.budget.limit * scale, digits))
      break;
  }

  return text + std::string(unit_of(fact.unit));
}

std::string budget_limit(BudgetCheck const& check) {
  BudgetFact const& fact = fact_of(check);
  double const scale = fact.unit == FactUnit::kShare ? 100 : 1;
  return fmt::format("{} {:.10g}{}", analyzer::to_string(check.budget.bound),
                     check.budget.limit * scale, unit_of(fact.unit));
}

std::string budget_summary(BudgetCheck const& check) {
  if (!check.value) return "not known";
  std::string text = budget_value(check, *check.value);
  if (check.interval && check.interval->low != check.interval->high)
    text += fmt::format(" (95 % interval {} to {})", budget_value(check, check.interval->low),
                        budget_value(check, check.interval->high));
  return text;
}

std::string budget_place(BudgetCheck const& check) {
  if (check.budget.line == 0) return {};
  return fmt::format(" ({}:{})", shown(check.budget.file, kMostLabelBytes), check.budget.line);
}

std::string budget_message(BudgetCheck const& check) {
  std::string const& name = check.budget.fact;
  if (!check.value)
    return fmt::format(
        "UNCLEAR: the recording has no {}, so its budget {}{} is neither met nor exceeded.", name,
        budget_limit(check), budget_place(check));

  std::string const is = fmt::format("{} is {}, budget {}{}", name, budget_summary(check),
                                     budget_limit(check), budget_place(check));

  switch (check.verdict) {
    case GateVerdict::kPassed:
      return fmt::format("KEPT: {}.", is);
    case GateVerdict::kFailed:
      return fmt::format("BROKEN: {}.", is);
    case GateVerdict::kUnclear:
      break;
  }

  if (!check.interval) return fmt::format("UNCLEAR: {}: too few steps to know its variation.", is);
  return fmt::format("UNCLEAR: {}: the budget lies within the interval.", is);
}

/// What title and summary leave out.
std::string budget_reason(BudgetCheck const& check) {
  std::string const place = budget_place(check);
  if (!check.value)
    return fmt::format("The recording has no {}, so the budget is neither met nor exceeded{}.",
                       check.budget.fact, place);

  if (check.verdict == GateVerdict::kFailed)
    return fmt::format(
        "The {} is beyond the limit{}.",
        check.interval && check.interval->low < check.interval->high ? "whole interval" : "value",
        place);
  if (!check.interval) return fmt::format("Too few steps to know its variation{}.", place);
  return fmt::format("The limit lies within the interval{}.", place);
}

/// Who or what makes the largest part of the change what it is.
std::string cause_text(analyzer::Comparison const& comparison) {
  auto const largest = largest_part(comparison);
  if (!largest) return {};
  std::string const reason = change_part_reason(comparison, *largest);
  return reason.empty() ? std::string() : fmt::format(" Reason: {}.", reason);
}

std::string other_machine_text(GateResult const& result) {
  std::string list;
  for (analyzer::Difference const& difference : result.comparison->differences) {
    if (!analyzer::is_of_machine(difference, result.has_host_devices) || list.size() > 300)
      continue;
    list += (list.empty() ? "" : "; ") + difference_text(difference);
  }

  return fmt::format(
      "The baseline was recorded on another machine ({}), "
      "so a difference says nothing about the program. Record a baseline on this machine.",
      list);
}

std::string step_message(GateResult const& result, GateAnswer const& answer) {
  analyzer::Comparison const& comparison = *result.comparison;
  if (result.is_other_machine) return "UNCLEAR: " + other_machine_text(result);
  std::string const noise = noise_text(result, answer);
  std::string text = headline(comparison);
  if (answer.verdict == GateVerdict::kFailed) text += cause_text(comparison);
  return noise.empty() ? text : text + " " + noise;
}

std::string memory_message(GateResult const& result, GateAnswer const& answer) {
  if (result.is_other_machine) return "UNCLEAR: " + other_machine_text(result);
  Metric const& metric = metric_of(result, answer);
  std::string_view word = metric.verdict == analyzer::Verdict::kLess ? "LESS" : "SAME";
  if (answer.verdict == GateVerdict::kFailed) word = "MORE";
  if (answer.verdict == GateVerdict::kUnclear) word = "UNCLEAR";
  std::string const noise = noise_text(result, answer);
  return fmt::format("{}: peak memory allocated on a device in a step: {}.{}{}", word,
                     answer_summary(result, answer), noise.empty() ? "" : " ", noise);
}

/// How many more values would settle an unclear answer; empty if more values would not help.
std::string settle_text(GateResult const& result, GateAnswer const& answer) {
  if (answer.verdict != GateVerdict::kUnclear) return {};
  if (answer.more)
    return fmt::format("About {} would settle it, if their variation stays the same.",
                       more_text(*answer.more));

  bool const was_tested =
      answer.question == GateQuestion::kBudget
          ? budget_of(result, answer).interval.has_value()
          : answer.noise && metric_of(result, answer).verdict == analyzer::Verdict::kUnclear;
  if (!was_tested) return {};
  if (answer.question == GateQuestion::kBudget)
    return budget_of(result, answer).interval->unit == analyzer::CompareUnit::kRun
               ? "More runs would hardly settle it: the value is about at the limit. Leave more "
                 "room between both."
               : "A longer recording would hardly settle it: the value is about at the limit, or "
                 "it "
                 "drifts. Leave more room between both.";

  analyzer::Metric const& metric = metric_of(result, answer);
  if (analyzer::has_opposed_mean(metric.change, metric.least))
    return "More of them would not settle it: the typical ones changed one way and the mean the "
           "other. Look at the few that differ (stepscope analyze).";

  bool const vary_runs = metric_of(result, answer).change.unit == analyzer::CompareUnit::kRun;
  bool const vary_pairs = metric_of(result, answer).change.unit == analyzer::CompareUnit::kPair;

  if (vary_pairs)
    return "More pairs would hardly settle it: "
           "their runs differ too much for a change of this size. "
           "Use a dedicated machine or a larger --min-effect.";
  if (vary_runs)
    return "More runs would hardly settle it: they vary too much for a change of this size. "
           "Use a dedicated machine, interleave both programs (--paired; "
           "GATE_BASE of examples/ci_gate), or use a larger --min-effect.";

  return "More steps would hardly settle it: "
         "the change is about as large as the smallest that counts, or the step time drifts.";
}

std::string count_of(GateResult const& result, GateVerdict verdict) {
  std::string names;
  size_t count = 0;
  for (GateAnswer const& answer : result.answers) {
    if (answer.verdict != verdict) continue;
    ++count;
    names += (names.empty() ? "" : ", ") + answer_title(result, answer);
  }
  return fmt::format("{} of {} {}: {}", count, base::format_count(result.answers.size(), "check"),
                     gate_word(verdict), names);
}

std::string label_of(analyzer::HistoryStats const& history, size_t at) {
  std::string const label = shown(history.points[at].label, kMostLabelBytes);
  std::string const number = base::format_count(history.left_out + at + 1);
  return label.empty() ? "run " + number : fmt::format("run {} ({})", number, label);
}

std::string runs_of(size_t count) { return base::format_count(count, "run"); }
std::string path_of(std::string const& path) { return shown(path, kMostPathBytes); }

std::string history_kept_text(analyzer::KeptHistory const& kept) {
  return fmt::format("{} added to {}, which has {} now", runs_of(kept.added), path_of(kept.file),
                     runs_of(kept.runs));
}

/// Where nothing was to be checked: what was done instead.
std::string kept_headline(GateResult const& result, std::string const& name) {
  if (result.kept_baseline)
    return fmt::format("BASELINE WRITTEN: {}: {}, in {}{}.", name,
                       runs_of(result.kept_baseline->runs.size()),
                       path_of(result.kept_baseline->file),
                       result.kept_baseline->replaces ? ", in place of the one before" : "");

  if (result.kept_history)
    return fmt::format("HISTORY WRITTEN: {}: {}.", name, history_kept_text(*result.kept_history));

  size_t const runs = result.history ? result.history->points.size() + result.history->left_out : 0;
  return fmt::format(
      "HISTORY: {}: {}; "
      "nothing was checked, because there is neither a baseline nor a budget.",
      name, runs_of(runs));
}

std::string part_name(analyzer::StepPart part_of_step) {
  Metric metric;
  metric.family = analyzer::MetricFamily::kPart;
  metric.name = analyzer::to_string(part_of_step);
  return metric_label(metric);
}

/// What would make a baseline that was written a better one.
std::vector<std::string> baseline_notes(analyzer::KeptBaseline const& kept) {
  std::vector<std::string> notes;
  constexpr size_t kGoodRuns =
      4;  // from there on an interval over runs is not much wider than the runs vary (COMPARE.md)
  if (kept.runs.size() < kGoodRuns)
    notes.push_back(
        fmt::format("{} {} little about the variation between runs of the same program; "
                    "a baseline should have at least four.",
                    runs_of(kept.runs.size()), kept.runs.size() == 1 ? "tells" : "tell"));

  constexpr double kCoarse = 0.1;  // a slowdown of 10 % must be detectable
  if (kept.noise && kept.noise->detectable_change > kCoarse * kept.step_ns)
    notes.emplace_back(
        "Smaller slowdowns would be unclear: "
        "a dedicated machine detects more, and so does interleaving both programs (GATE_BASE "
        "of examples/ci_gate).");

  return notes;
}

}  // namespace

namespace {

/// Where the step got longer: what most of it is, and why.
std::string failed_cause(GateResult const& result) {
  bool const is_step =
      std::any_of(result.answers.begin(), result.answers.end(), [](GateAnswer const& answer) {
        return answer.question == GateQuestion::kStepTime && answer.verdict == GateVerdict::kFailed;
      });
  if (!is_step || !result.comparison || result.is_other_machine) return {};
  return largest_part_sentence(*result.comparison) + cause_text(*result.comparison);
}

}  // namespace

std::string_view gate_word(GateVerdict verdict) { return analyzer::to_string(verdict); }

std::string gate_headline(GateResult const& result) {
  std::string const name = shown(result.name, kMostLabelBytes);
  if (result.answers.empty()) return kept_headline(result, name);
  switch (result.verdict) {
    case GateVerdict::kPassed:
      return fmt::format("PASSED: {}: {} passed.", name,
                         base::format_count(result.answers.size(), "check"));
    case GateVerdict::kFailed:
      return fmt::format("FAILED: {}: {}.{}", name, count_of(result, GateVerdict::kFailed),
                         failed_cause(result));
    case GateVerdict::kUnclear:
      break;
  }
  return fmt::format("UNCLEAR: {}: {}.", name, count_of(result, GateVerdict::kUnclear));
}

std::string answer_title(GateResult const& result, GateAnswer const& answer) {
  switch (answer.question) {
    case GateQuestion::kStepTime:
      return "step time";
    case GateQuestion::kMemory:
      return metric_label(metric_of(result, answer));
    case GateQuestion::kBudget:
      break;
  }
  BudgetCheck const& check = budget_of(result, answer);
  return fmt::format("budget {} {}", check.budget.fact, budget_limit(check));
}

std::string answer_id(GateResult const& result, GateAnswer const& answer) {
  std::string const question = analyzer::to_string(answer.question);
  return answer.question == GateQuestion::kBudget
             ? question + "." + budget_of(result, answer).budget.fact
             : question;
}

std::string answer_summary(GateResult const& result, GateAnswer const& answer) {
  if (answer.question == GateQuestion::kBudget) return budget_summary(budget_of(result, answer));
  Metric const& metric = metric_of(result, answer);
  analyzer::Change const& change = metric.change;
  std::string text = fmt::format(
      "{} → {}, {}", amount_of(metric, change.base_mean), amount_of(metric, change.candidate_mean),
      signed_share(change.candidate_mean - change.base_mean, change.base_mean));
  std::string const interval = interval_words(change);
  return interval.empty() ? text : text + " (" + interval + ")";
}

std::string answer_message(GateResult const& result, GateAnswer const& answer) {
  switch (answer.question) {
    case GateQuestion::kStepTime:
      return step_message(result, answer);
    case GateQuestion::kMemory:
      return memory_message(result, answer);
    case GateQuestion::kBudget:
      break;
  }
  std::string const noise = noise_text(result, answer);
  return budget_message(budget_of(result, answer)) + (noise.empty() ? "" : " " + noise);
}

std::string answer_reason(GateResult const& result, GateAnswer const& answer) {
  bool const is_budget = answer.question == GateQuestion::kBudget;
  if (result.is_other_machine && !is_budget) return other_machine_text(result);
  std::string const noise = noise_text(result, answer);
  if (!is_budget) return noise;
  return budget_reason(budget_of(result, answer)) + (noise.empty() ? "" : " " + noise);
}

analyzer::Comparison shown_comparison(GateResult const& result) {
  analyzer::Comparison comparison = *result.comparison;
  bool const says_it =
      std::any_of(result.answers.begin(), result.answers.end(), [](GateAnswer const& answer) {
        return answer.question == GateQuestion::kStepTime && (answer.noise || answer.more);
      });
  if (!says_it) return comparison;

  std::erase_if(comparison.caveats, [](analyzer::CaveatStats const& caveat) {
    return caveat.caveat == analyzer::Caveat::kFewRuns;
  });
  return comparison;
}

std::string more_text(analyzer::MoreValues const& more) {
  if (more.unit == analyzer::CompareUnit::kPair)
    return base::format_count(more.count, "more pair") + " of runs";
  bool const are_runs = more.unit == analyzer::CompareUnit::kRun;
  std::string const what = base::format_count(more.count, are_runs ? "more run" : "more step");
  if (more.on_both_sides) return what + " on each side";
  return are_runs ? what + " of the new side" : what + " of the new run";
}

std::string noise_text(GateResult const& result, GateAnswer const& answer) {
  if (result.is_other_machine && answer.question != GateQuestion::kBudget) return {};
  std::string text;

  if (answer.noise && answer.noise->deviation > 0) {
    Metric const& metric = metric_of(result, answer);
    double const mean = metric.change.base_mean;
    std::string_view unit =
        metric.change.unit == analyzer::CompareUnit::kRun ? "Runs vary" : "Steps vary";
    if (metric.change.unit == analyzer::CompareUnit::kBlock) unit = "Blocks of steps vary";
    if (metric.change.unit == analyzer::CompareUnit::kPair) unit = "Runs of a pair differ";

    if (mean > 0) text = fmt::format("{} by {}", unit, fine_share(answer.noise->deviation / mean));
    // A change that was detected needs no word on what would be.
    if (mean > 0 && answer.verdict == GateVerdict::kFailed) text += ".";
    if (mean > 0 && answer.verdict != GateVerdict::kFailed)
      text += fmt::format("; a change of at least {} would be detected with 90 % probability.",
                          fine_share(answer.noise->detectable_change / mean));
  }

  std::string const settle = settle_text(result, answer);
  if (settle.empty()) return text;
  return text.empty() ? settle : text + " " + settle;
}

std::string level_change_text(analyzer::HistoryStats const& history,
                              analyzer::LevelChange const& change) {
  auto const most = static_cast<size_t>(change.most);
  std::string const text = fmt::format(
      "{} since {}: a step takes {} instead of {} ({}); most of it: {} ({}).",
      change.after_ns > change.before_ns ? "SLOWER" : "FASTER", label_of(history, change.at),
      gate_duration(change.after_ns), gate_duration(change.before_ns),
      signed_share(change.after_ns - change.before_ns, change.before_ns), part_name(change.most),
      signed_duration(change.parts_ns[most]));

  std::string const &before = history.points[change.at - 1].device,
                    &after = history.points[change.at].device;
  if (before == after) return text;

  return fmt::format("{} From there on it ran on another machine: {}, before {}.", text,
                     shown(after, kMostLabelBytes), shown(before, kMostLabelBytes));
}

std::string history_text(GateResult const& result) {
  if (!result.history) return {};
  std::string const runs = base::format_count(result.history->points.size(), "run");
  constexpr size_t kFewestRuns = 10;  // of fewer no order of two levels is rarer than 1 of 100

  if (result.history->points.size() < kFewestRuns)
    return fmt::format(
        "History: {}, too few to locate a change of the step time; it takes at least {}.", runs,
        kFewestRuns);

  if (result.history->changes.empty())
    return fmt::format("History: the step time stayed at one level over {}.", runs);
  return fmt::format("History: over {} the step time changed its level {}.", runs,
                     result.history->changes.size() == 1
                         ? "once"
                         : fmt::format("{} times", result.history->changes.size()));
}

std::vector<std::vector<std::string>> kept_rows(analyzer::KeptBaseline const& kept) {
  std::vector<std::vector<std::string>> rows = {{"run", "steps", "step", "peak memory allocated"}};
  for (analyzer::KeptRun const& run : kept.runs)
    rows.push_back({shown(run.name, kMostLabelBytes), base::format_count(run.steps),
                    gate_duration(run.step_ns),
                    run.peak_allocated_bytes ? gate_bytes(*run.peak_allocated_bytes) : "–"});
  return rows;
}

std::string next_command(analyzer::KeptBaseline const& kept) {
  std::string command = "stepscope check NEW… --baseline " + base::shell_word(kept.place);
  if (!kept.asked_name.empty()) command += " --name " + base::shell_word(kept.asked_name);
  return command;
}

std::string kept_noise_text(analyzer::KeptBaseline const& kept) {
  if (!kept.noise || kept.noise->deviation <= 0 || kept.step_ns <= 0) return {};
  bool const are_runs = kept.unit == analyzer::CompareUnit::kRun;
  return fmt::format(
      "{} by {}; with {}, a change of at least {} would be detected with 90 % probability.",
      are_runs ? "Runs vary" : "Steps vary", fine_share(kept.noise->deviation / kept.step_ns),
      are_runs ? "as many new runs" : "a new run of the same length",
      fine_share(kept.noise->detectable_change / kept.step_ns));
}

std::vector<std::string> gate_notes(GateResult const& result) {
  std::vector<std::string> notes;
  bool const was_checked = !result.answers.empty();

  if (result.kept_baseline && !result.kept_baseline->is_written)
    notes.push_back(path_of(result.kept_baseline->file) +
                    ": unchanged, because the check did not pass.");
  else if (result.kept_baseline && was_checked)
    notes.push_back(fmt::format("The new runs are the baseline from now on: {}, in {}.",
                                runs_of(result.kept_baseline->runs.size()),
                                path_of(result.kept_baseline->file)));

  if (result.kept_history && (was_checked || result.kept_baseline))
    notes.push_back("History: " + history_kept_text(*result.kept_history) + ".");
  if (result.kept_baseline && result.kept_baseline->is_written)
    for (std::string& note : baseline_notes(*result.kept_baseline))
      notes.push_back(std::move(note));

  bool const is_kept = result.kept_baseline && result.kept_baseline->is_written;
  if (result.comparison && !result.is_other_machine && !is_kept &&
      result.comparison->verdict == analyzer::Verdict::kLess)
    notes.emplace_back(
        "The step is faster than the baseline: "
        "--update-baseline makes this run the new baseline.");

  for (BudgetCheck const& check : result.budgets)
    if (check.interval && check.interval->unit == analyzer::CompareUnit::kStep) {
      notes.emplace_back(
          "Budgets are compared with one run: "
          "the variation between runs of the same program is not known.");
      break;
    }

  return notes;
}

}  // namespace stepscope::reports
