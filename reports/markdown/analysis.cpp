#include "reports/markdown/analysis.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "reports/markdown/escape.h"
#include "reports/words/host_words.h"
#include "reports/words/summary.h"
#include "reports/words/wording.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// Parts of a step with at least kLeastShownShare of it; all others are one row, so that the shares
/// sum to 1.
std::string split_markdown(Summary const& summary) {
  if (summary.mean_ns <= 0) return {};

  std::string text = fmt::format("\n| {} | time | share |\n|---|---:|---:|\n",
                                 summary.has_steps ? "a step" : "a device");
  double rest = 0;

  for (int i = 0; i < kPartCount; ++i) {
    double const ns = summary.parts_ns[static_cast<size_t>(i)];
    if (summary.share(i) < kLeastShownShare) {
      rest += ns;
      continue;
    }

    text +=
        fmt::format("| {}{} | {} | {} |\n", part(i).idle ? "idle: " : "", part(i).label,
                    base::format_duration(std::llround(ns)), base::format_share(summary.share(i)));
  }

  if (rest > 0)
    text +=
        fmt::format("| everything else | {} | {} |\n", base::format_duration(std::llround(rest)),
                    base::format_share(rest / summary.mean_ns));

  return text + fmt::format("| **all** | **{}** | |\n",
                            base::format_duration(std::llround(summary.mean_ns)));
}

}  // namespace

std::string finding_markdown(model::Run const& run, analyzer::Analysis const& analysis,
                             analyzer::Finding const& finding) {
  FindingWords const words = words_of(run, analysis, finding);
  std::string cost;

  if (finding.cost_ns_per_step)
    cost =
        fmt::format(", {}{}", base::format_duration(*finding.cost_ns_per_step),
                    analysis.steps.empty() && !summarize_hosts(analysis).mean_ns ? "" : " a step");

  return fmt::format("- **{}** ({}{}). {} *{}* (rule {})\n", markdown_escape(words.title),
                     analyzer::to_string(finding.severity), cost,
                     markdown_escape(words.explanation), markdown_escape(words.advice),
                     markdown_escape(finding.rule));
}

std::string summary_markdown(model::Run const& run, analyzer::Analysis const& analysis) {
  Summary const summary = summarize(analysis);

  RunVerdict const found = verdict(run, analysis, summary);
  std::string text =
      fmt::format("## {}\n\n", run.name.empty() ? "Run" : markdown_escape(run.name, 200));
  text += found.to_do.empty() ? fmt::format("**{}**\n", markdown_escape(found.numbers))
                              : fmt::format("**{}** {}\n", markdown_escape(found.to_do),
                                            markdown_escape(found.numbers));

  if (summary.median_ns)
    text += fmt::format(
        "\n{} on {}; median {}, p95 {}.\n", base::format_count(summary.steps, "step"),
        base::format_count(analysis.devices.size(), "device"),
        base::format_duration(*summary.median_ns), base::format_duration(*summary.p95_ns));

  return text + split_markdown(summary);
}

std::string analysis_markdown(model::Run const& run, analyzer::Analysis const& analysis) {
  std::string text = summary_markdown(run, analysis) + "\n### Findings\n\n";
  if (analysis.findings.empty()) text += "None: no rule found anything worth changing.\n";
  for (size_t i = 0; i < std::min(analysis.findings.size(), kMarkdownFindings); ++i)
    text += finding_markdown(run, analysis, analysis.findings[i]);
  if (analysis.findings.size() > kMarkdownFindings)
    text += fmt::format("- … and {} more\n", analysis.findings.size() - kMarkdownFindings);

  if (analysis.integrity.score < 100)
    text += fmt::format(
        "\nThe recording is not complete: quality {} of 100 (`stepscope doctor RUN` says why).\n",
        analysis.integrity.score);

  return text;
}

}  // namespace stepscope::reports
