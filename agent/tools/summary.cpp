// summary: the verdict and the headline numbers, those of `stepscope analyze`.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "agent/tools/doubts.h"
#include "agent/tools/tools.h"
#include "reports/json/json.h"
#include "reports/markdown/analysis.h"
#include "reports/markdown/escape.h"
#include "reports/words/wording.h"
#include "trace/base/format.h"

namespace stepscope::agent {
namespace {

constexpr size_t kNamedFindings = 5;

constexpr std::array kSummaryArguments = {kRunArgument};

constexpr std::string_view kSummarySchema = R"({
  "type": "object",
  "required": ["run", "summary", "finding_count", "quality_score", "notes"],
  "properties": {
    "run": {"type": "string"},
    "summary": {"type": "object", "description": "member summary of stepscope analyze --json"},
    "finding_count": {"type": "integer"},
    "quality_score": {"type": "integer", "description": "100: the recording has no known fault"},
    "notes": {"type": "array", "items": {"type": "string"}}
  }
})";

std::string named_findings(OpenRun const& run) {
  auto const& findings = run.analysis().findings;
  if (findings.empty()) return "\nNo rule found anything worth changing.\n";

  std::string text = "\nFindings, worst first (the tool findings has their evidence):\n\n";
  for (size_t i = 0; i < std::min(findings.size(), kNamedFindings); ++i)
    text += fmt::format(
        "{}. {} ({}, {})\n", i + 1,
        reports::markdown_escape(reports::words_of(run.run(), run.analysis(), findings[i]).title),
        reports::markdown_escape(findings[i].rule), analyzer::to_string(findings[i].severity));
  if (findings.size() > kNamedFindings)
    text += fmt::format("\n… and {} more.\n", findings.size() - kNamedFindings);
  return text;
}

base::Expected<Answer> answer_summary(Question const& question) {
  auto const opened = question.runs.open(question.arguments.text("run"));
  if (!opened) return base::fail_with(opened);

  OpenRun const& run = **opened;
  std::vector<std::string> const doubts = doubts_of(run);
  OrderedJson data = {{"run", base::printable(run.path())},
                      {"summary", reports::summary_json(run.run(), run.analysis())},
                      {"finding_count", run.analysis().findings.size()},
                      {"quality_score", run.analysis().integrity.score},
                      {"notes", doubts}};
  return Answer{reports::summary_markdown(run.run(), run.analysis()) + named_findings(run) +
                    doubts_markdown(doubts),
                std::move(data)};
}

}  // namespace

Tool summary_tool() {
  return {
      "summary",
      "Where the time goes",
      "The verdict on a run: how long a step is, how much of it the devices compute, what costs "
      "most, and what the recording cannot tell.",
      kSummaryArguments,
      kSummarySchema,
      answer_summary};
}

}  // namespace stepscope::agent
