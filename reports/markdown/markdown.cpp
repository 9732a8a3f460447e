#include "reports/markdown/markdown.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "reports/markdown/escape.h"
#include "reports/words/labels.h"
#include "reports/words/runs/comparison_words.h"
#include "reports/words/runs/gate_words.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using analyzer::ChangePart;
using analyzer::Comparison;
using analyzer::GateResult;
using analyzer::Metric;
using analyzer::MetricFamily;
using analyzer::Verdict;

/// A comment is read in a minute; JSON has the rest.
constexpr size_t kMostListed = 12;
/// Parts of less than this share of the base's step are summed up.
constexpr double kLeastListedShare = 0.001;

std::string md(std::string_view text) { return markdown_escape(text); }

std::string table_row(std::vector<std::string> const& cells) {
  std::string row = "|";
  for (std::string const& cell : cells) row += " " + cell + " |";
  return row + "\n";
}

std::string bulleted(std::vector<std::string> const& lines) {
  std::string text;
  for (size_t i = 0; i < std::min(lines.size(), kMostListed); ++i)
    text += "- " + md(lines[i]) + "\n";
  if (lines.size() > kMostListed)
    text += fmt::format("- … and {} more\n", lines.size() - kMostListed);
  return text;
}

std::string folded(std::string_view summary, std::string const& content) {
  return fmt::format("\n<details><summary>{}</summary>\n\n{}\n</details>\n", summary, content);
}

std::string metric_amount(Metric const& metric, double value) {
  if (metric.family == MetricFamily::kMemory)
    return base::format_bytes(static_cast<uint64_t>(std::clamp(value, 0.0, 1e18)));
  return base::format_duration(std::llround(std::clamp(value, -9e18, 9e18)));
}

std::string marked_interval(analyzer::Change const& change) {
  return interval_text(change) + std::string(is_mean_outside(change) ? kTypicalMark : "");
}

std::string metric_line(Metric const& metric) {
  analyzer::Change const& change = metric.change;
  bool const has_interval = change.method != analyzer::CompareMethod::kNone && change.base_mean > 0;
  std::string const verdict(verdict_word(metric));
  bool const is_worse = metric.verdict == Verdict::kMore || metric.verdict == Verdict::kUnclear;
  return table_row({md(metric_label(metric)), md(metric_amount(metric, change.base_mean)),
                    md(metric_amount(metric, change.candidate_mean)),
                    md(signed_share(change.candidate_mean - change.base_mean, change.base_mean)),
                    has_interval ? md(marked_interval(change)) : "–",
                    is_worse ? "**" + verdict + "**" : verdict});
}

std::string metric_table_heading(std::string_view name) {
  return table_row({std::string(name), "base", "new", "change", "95 % interval", "verdict"}) +
         "|---|--:|--:|--:|--:|---|\n";
}

/// The step, memory, and parts that are worth a line.
std::string numbers_table(Comparison const& comparison) {
  std::string text = metric_table_heading("per step");
  double const least = 5 * kLeastListedShare * comparison.step().change.base_mean;
  for (Metric const& metric : comparison.metrics) {
    bool const is_main =
        metric.family == MetricFamily::kStep || metric.family == MetricFamily::kMemory;
    bool const is_large = metric.change.base_mean >= least || metric.change.candidate_mean >= least;
    if (is_main || (metric.family == MetricFamily::kPart && is_large)) text += metric_line(metric);
  }
  return text;
}

/// Only metrics that changed significantly.
std::string changed_table(Comparison const& comparison, MetricFamily family,
                          std::string_view heading) {
  std::string rows;
  size_t count = 0;

  for (Metric const& metric : comparison.metrics) {
    bool const changed = metric.verdict == Verdict::kLess || metric.verdict == Verdict::kMore;
    if (metric.family != family || !changed) continue;
    if (++count <= kMostListed) rows += metric_line(metric);
  }

  if (count == 0) return {};
  std::string const rest =
      count > kMostListed ? fmt::format("\n… and {} more\n", count - kMostListed) : std::string();
  return "\n" + metric_table_heading(heading) + rows + rest;
}

std::string why_list(Comparison const& comparison) {
  auto const& parts = comparison.parts_ns;
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return std::abs(parts[a]) > std::abs(parts[b]); });

  double const least =
      std::max(1.0, kLeastListedShare * static_cast<double>(comparison.base.mean_ns));
  std::vector<std::string> lines;
  int64_t rest = 0;
  for (size_t const i : order) {
    auto const part = static_cast<ChangePart>(i);
    if (std::abs(static_cast<double>(parts[i])) < least || lines.size() + 1 >= kMostListed) {
      rest += parts[i];
      continue;
    }

    std::string const reason = change_part_reason(comparison, part);
    lines.push_back(fmt::format("{} {}{}{}", signed_duration(static_cast<double>(parts[i])),
                                change_part_label(part, parts[i]), reason.empty() ? "" : ": ",
                                reason));
  }

  if (rest != 0)
    lines.push_back(signed_duration(static_cast<double>(rest)) +
                    (lines.empty() ? " everything" : " everything else"));
  if (lines.empty()) return {};

  auto const change = static_cast<double>(comparison.candidate.mean_ns - comparison.base.mean_ns);
  return fmt::format("\n**Why**: exact breakdown of the {} of the mean step\n\n{}",
                     md(signed_duration(change)), bulleted(lines));
}

std::string differences_list(Comparison const& comparison) {
  if (comparison.differences.empty()) return {};
  std::vector<std::string> lines;
  for (analyzer::Difference const& difference : comparison.differences)
    lines.push_back(difference_text(difference));
  return "\n**Not the same on both sides**\n\n" + bulleted(lines);
}

std::string findings_list(Comparison const& comparison) {
  std::string text;
  for (std::vector<std::string> cells : finding_rows(comparison)) {
    for (std::string& cell : cells) cell = md(cell);
    bool const is_heading = text.empty();
    text += table_row(cells) + (is_heading ? "|---|--:|--:|--:|\n" : "");
  }
  if (text.empty()) return {};
  std::string const promise = promise_text(comparison);
  return "\n" + text + (promise.empty() ? "" : "\n" + md(promise) + "\n");
}

std::string side_names(analyzer::SideStats const& side) {
  std::string const name = side.runs.size() == 1 ? shown(side.runs.front(), 80)
                                                 : base::format_count(side.runs.size(), "run");
  return fmt::format("{} ({})", name, base::format_count(side.steps, "step"));
}

/// Below the verdict.
std::string comparison_body(Comparison const& comparison) {
  std::string text =
      differences_list(comparison) + why_list(comparison) + findings_list(comparison);

  std::string details =
      numbers_table(comparison) +
      changed_table(comparison, MetricFamily::kKernel, "time of a kernel call") +
      changed_table(comparison, MetricFamily::kCollective, "transfer of a collective");
  std::string const marked_cell = fmt::format("{} |", md(kTypicalMark));
  if (details.find(marked_cell) != std::string::npos) details += "\n" + md(kTypicalNote) + "\n";
  text += folded("Numbers", details);

  std::vector<std::string> const notes = comparison_notes(comparison);
  if (!notes.empty()) text += folded("What the verdicts leave out", bulleted(notes));
  text += fmt::format("\nBase: {}. New: {}.\n", md(side_names(comparison.base)),
                      md(side_names(comparison.candidate)));

  return text;
}

std::string bold_verdict(analyzer::GateVerdict verdict) {
  std::string const word(gate_word(verdict));
  return verdict == analyzer::GateVerdict::kPassed ? word : "**" + word + "**";
}

std::string history_list(GateResult const& result) {
  std::string const whole = history_text(result);
  if (whole.empty()) return {};
  std::vector<std::string> lines;
  for (analyzer::LevelChange const& change : result.history->changes)
    lines.push_back(level_change_text(*result.history, change));
  return "\n" + md(whole) + "\n" + (lines.empty() ? "" : "\n" + bulleted(lines));
}

/// The runs of a baseline that was written, how far they vary, and what to do next.
std::string baseline_body(analyzer::KeptBaseline const& kept) {
  std::string text = "\n";
  for (std::vector<std::string> cells : kept_rows(kept)) {
    for (std::string& cell : cells) cell = md(cell);
    bool const is_heading = text.size() == 1;
    text += table_row(cells) + (is_heading ? "|---|--:|--:|--:|\n" : "");
  }
  std::string const noise = kept_noise_text(kept);
  if (!noise.empty()) text += "\n" + md(noise) + "\n";
  return text + "\nNext: " + md(next_command(kept)) + "\n";
}

}  // namespace

std::string comparison_markdown(Comparison const& comparison) {
  return "### Stepscope: " + md(headline(comparison)) + "\n" + comparison_body(comparison);
}

std::string gate_markdown(GateResult const& result) {
  std::string text = "### Stepscope: " + md(gate_headline(result)) + "\n";

  if (!result.answers.empty()) {
    text += "\n" + table_row({"check", "found", "verdict"}) + "|---|---|---|\n";
    for (analyzer::GateAnswer const& answer : result.answers)
      text += table_row({md(answer_title(result, answer)), md(answer_summary(result, answer)),
                         bold_verdict(answer.verdict)});
    text += "\n";
    for (analyzer::GateAnswer const& answer : result.answers)
      if (answer.verdict != analyzer::GateVerdict::kPassed)
        text += "- " + md(answer_message(result, answer)) + "\n";
  }

  if (result.comparison) text += comparison_body(shown_comparison(result));
  if (result.kept_baseline && result.kept_baseline->is_written)
    text += baseline_body(*result.kept_baseline);
  text += history_list(result);

  std::vector<std::string> const notes = gate_notes(result);
  if (!notes.empty()) text += "\n" + bulleted(notes);
  return text;
}

}  // namespace stepscope::reports
