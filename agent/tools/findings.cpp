// findings and view_link: what the rules found, with the evidence, and how a person looks at it.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "agent/tools/doubts.h"
#include "agent/tools/finding_places.h"
#include "agent/tools/tools.h"
#include "analyzer/whatif/whatif.h"
#include "reports/json/json.h"
#include "reports/markdown/analysis.h"
#include "reports/markdown/escape.h"
#include "reports/words/labels.h"
#include "trace/base/format.h"

namespace stepscope::agent {
namespace {

constexpr int64_t kMostFindings = 30, kUsualFindings = 5;

constexpr std::array kFindingsArguments = {
    kRunArgument,
    Argument{"rule", ArgumentType::kText, false, "only findings of this rule, such as input-bound"},
    Argument{"limit", ArgumentType::kNumber, false, "most findings of the answer", 1, kMostFindings,
             kUsualFindings}};
constexpr std::array kViewArguments = {
    kRunArgument,
    Argument{"finding", ArgumentType::kNumber, false, "number of the finding, from 1", 1, 10'000,
             1},
    Argument{"place", ArgumentType::kNumber, false, "number of its place, from 1", 1,
             analyzer::kMaxEvidence, 1}};

constexpr std::string_view kFindingsSchema = R"({
  "type": "object",
  "required": ["run", "finding_count", "findings", "notes"],
  "properties": {
    "run": {"type": "string"},
    "finding_count": {"type": "integer", "description": "of the run, whatever the limit"},
    "findings": {"type": "array", "items": {"type": "object", "properties": {
      "finding": {"type": "integer"}, "rule": {"type": "string"}, "severity": {"type": "string"},
      "title": {"type": "string"}, "cost_ns_per_step": {"type": ["integer", "null"]},
      "gain_alone": {"type": ["number", "null"]}, "gain_reason": {"type": "string"},
      "evidence": {"type": "array", "items": {"type": "object"}},
      "sql": {"type": "string"}, "view": {"type": ["string", "null"]}}}},
    "notes": {"type": "array", "items": {"type": "string"}}
  }
})";
constexpr std::string_view kViewSchema = R"({
  "type": "object",
  "required": ["command"],
  "properties": {"command": {"type": "string"}}
})";

/// Reproduces the finding's numbers, with those that its sentences are made of.
std::string sql_of(size_t number) {
  return fmt::format(
      "select f.rule, f.cost_ns_per_step, f.gain_alone, m.metric, m.value from findings f left "
      "join finding_metrics m on m.finding = f.finding where f.finding = {}",
      number);
}

/// Why no replay tells the gain; empty where one does.
std::string gain_reason(OpenRun const& run, analyzer::Finding const& finding) {
  if (finding.gain_alone) return {};
  std::string const reason = analyzer::remedy_of(finding, run.run(), run.analysis()).reason;
  if (!reason.empty()) return reports::shown(reason);
  if (!finding.cost_ns_per_step && !finding.gain_ceiling) return "it costs no time that is known";
  return "the replay of this run does not tell it; the tool whatif says why";
}

OrderedJson finding_json(OpenRun& run, OrderedJson const& all, size_t number) {
  analyzer::Finding const& finding = run.analysis().findings[number - 1];
  OrderedJson data = {{"finding", number}};
  data.update(all[number - 1]);

  data["evidence"] = places_json(run, finding, all[number - 1]["evidence"]);
  data["sql"] = sql_of(number);
  if (std::string const reason = gain_reason(run, finding); !reason.empty())
    data["gain_reason"] = reason;
  data["view"] = finding.evidence.empty()
                     ? OrderedJson()
                     : OrderedJson(view_command(run, finding.evidence.front()));
  return data;
}

/// gains_of() has the predicted gain, where there is one, and the bound.
std::string gain_markdown(OpenRun const& run, analyzer::Finding const& finding) {
  std::string text = reports::gains_of(finding);
  if (std::string const reason = gain_reason(run, finding); !reason.empty())
    text = fmt::format("gain not predicted: {}{}{}", reports::markdown_escape(reason),
                       text.empty() ? "" : "; ", text);
  return text.empty() ? text : fmt::format("   - {}\n", text);
}

std::string finding_text(OpenRun const& run, OrderedJson const& data, size_t number) {
  analyzer::Finding const& finding = run.analysis().findings[number - 1];
  std::string const item = reports::finding_markdown(run.run(), run.analysis(), finding);
  std::string text = fmt::format("\n{}. {}", number, std::string_view(item).substr(2));
  text += gain_markdown(run, finding) + places_markdown(run, data["evidence"]);
  return text + fmt::format("   - numbers: `{}`\n", data["sql"].get<std::string>());
}

base::Expected<Answer> answer_findings(Question const& question) {
  auto const opened = question.runs.open(question.arguments.text("run"));
  if (!opened) return base::fail_with(opened);
  OpenRun& run = **opened;
  auto const& findings = run.analysis().findings;
  std::string const rule = question.arguments.text("rule");
  OrderedJson const all = reports::findings_json(run.run(), run.analysis());

  std::string text;
  OrderedJson chosen = OrderedJson::array();
  size_t matching = 0;
  for (size_t i = 0; i < findings.size(); ++i) {
    if (!rule.empty() && findings[i].rule != rule) continue;
    if (++matching > static_cast<size_t>(question.arguments.number("limit"))) continue;
    chosen.push_back(finding_json(run, all, i + 1));
    text += finding_text(run, chosen.back(), i + 1);
  }

  std::string head = fmt::format("{}{}; {} shown. Costs of findings overlap: do not add them.\n",
                                 base::format_count(matching, "finding"),
                                 rule.empty() ? "" : " of this rule", chosen.size());
  if (matching == 0)
    head = rule.empty() ? "No rule found anything worth changing.\n"
                        : "No finding of this rule. FINDINGS.md says when a rule stays silent.\n";

  int64_t const begin = reports::run_range(run.run()).begin;
  if (matching > 0)
    head += fmt::format(
        "Times of places count from the run's begin, which is {} ns in SQL and in the data.\n",
        begin);

  std::vector<std::string> const doubts = doubts_of(run);
  return Answer{head + text + doubts_markdown(doubts),
                {{"run", base::printable(run.path())},
                 {"finding_count", findings.size()},
                 {"findings", std::move(chosen)},
                 {"notes", doubts}}};
}

base::Expected<Answer> answer_view_link(Question const& question) {
  auto const opened = question.runs.open(question.arguments.text("run"));
  if (!opened) return base::fail_with(opened);
  auto const& findings = (*opened)->analysis().findings;
  auto const number = static_cast<size_t>(question.arguments.number("finding"));
  auto const place = static_cast<size_t>(question.arguments.number("place"));

  if (number > findings.size())
    return base::fail("finding {}: the run has {}, the tool findings lists them", number,
                      base::format_count(findings.size(), "finding"));
  auto const& evidence = findings[number - 1].evidence;
  if (evidence.empty())
    return base::fail(
        "finding {}: is about the whole run and has no place; open it with stepscope "
        "view RUN",
        number);
  if (place > evidence.size())
    return base::fail("place {}: finding {} has {}", place, number,
                      base::format_count(evidence.size(), "place"));

  std::string const command = view_command(**opened, evidence[place - 1]);
  return Answer{fmt::format("Run this to see it:\n\n```sh\n{}\n```\n", base::printable(command)),
                {{"command", command}}};
}

}  // namespace

Tool findings_tool() {
  return {"findings",
          "What costs time or memory, with evidence",
          "The findings of a run, worst first. Each has its cost in a step, the gain of fixing it, "
          "its places (ranks, steps, event ids), and the SQL that reproduces the numbers.",
          kFindingsArguments,
          kFindingsSchema,
          answer_findings};
}

Tool view_link_tool() {
  return {"view_link",
          "Show a person where",
          "The command line that opens the desktop viewer at a place of a finding.",
          kViewArguments,
          kViewSchema,
          answer_view_link};
}

}  // namespace stepscope::agent
