#include "reports/sarif/sarif.h"

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/words/labels.h"
#include "reports/words/runs/gate_words.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using SarifJson = nlohmann::ordered_json;
using analyzer::GateAnswer;
using analyzer::GateQuestion;
using analyzer::GateResult;

struct SarifRule {
  char const *id, *name, *summary;
};
/// In the order of GateQuestion.
constexpr std::array<SarifRule, 3> kSarifRules = {{
    {"stepscope/step-time", "StepTime", "A training step is as fast as in the baseline."},
    {"stepscope/memory", "Memory",
     "A training step needs no more device memory than in the baseline."},
    {"stepscope/budget", "Budget", "A run keeps the budgets of its workload."},
}};

/// GitHub's documentation of all of them.
constexpr char const* kSarifSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

SarifJson rules_json() {
  SarifJson rules = SarifJson::array();
  for (SarifRule const& rule : kSarifRules)
    rules.push_back(
        {{"id", rule.id},
         {"name", rule.name},
         {"shortDescription", {{"text", rule.summary}}},
         {"help", {{"text", "docs/guide/GATE.md says what is checked, and what to do."}}},
         {"defaultConfiguration", {{"level", "error"}}}});
  return rules;
}

SarifJson location_json(GateResult const& result, GateAnswer const& answer,
                        SarifOptions const& options) {
  analyzer::Budget const* const budget =
      answer.question == GateQuestion::kBudget ? &result.budgets[answer.index].budget : nullptr;
  bool const has_line = budget != nullptr && budget->line > 0;
  SarifJson physical = {
      {"artifactLocation", {{"uri", uri_of_path(has_line ? budget->file : options.artifact)}}}};
  // Code scanning shows no result without a line.
  physical["region"] = {{"startLine", has_line ? budget->line : 1},
                        {"startColumn", has_line ? budget->column : 1}};
  return {{"physicalLocation", physical}};
}

/// What is unclear is a warning: of SARIF's kinds "review" would say it, but must have no level,
/// and is shown nowhere then.
SarifJson result_json(GateResult const& result, GateAnswer const& answer,
                      SarifOptions const& options) {
  auto const rule = static_cast<size_t>(answer.question);
  return {{"ruleId", kSarifRules[rule].id},
          {"ruleIndex", rule},
          {"level", answer.verdict == analyzer::GateVerdict::kFailed ? "error" : "warning"},
          {"message", {{"text", answer_message(result, answer)}}},
          {"locations", SarifJson::array({location_json(result, answer, options)})},
          {"partialFingerprints",
           {{"stepscopeCheck/v1",
             fmt::format("{}/{}", shown(result.name), answer_id(result, answer))}}}};
}

}  // namespace

std::string uri_of_path(std::string_view path) {
  std::string uri = path.starts_with('/') ? "file://" : "";

  for (char const byte : path) {
    bool const is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                          (byte >= '0' && byte <= '9') ||
                          std::string_view("-._~/").find(byte) != std::string_view::npos;

    uri += is_plain
               ? std::string(1, byte)
               : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(byte)));
  }

  return uri.empty() ? "." : uri;
}

std::string gate_sarif(GateResult const& result, SarifOptions const& options) {
  SarifJson results = SarifJson::array();
  for (GateAnswer const& answer : result.answers)
    if (answer.verdict != analyzer::GateVerdict::kPassed)
      results.push_back(result_json(result, answer, options));

  SarifJson driver = {{"name", "Stepscope"}, {"rules", rules_json()}};
  if (!options.version.empty()) driver["version"] = options.version;

  SarifJson const run = {
      {"tool", {{"driver", driver}}},
      {"automationDetails", {{"id", fmt::format("stepscope/{}", shown(result.name))}}},
      {"columnKind", "utf16CodeUnits"},
      {"results", results}};
  SarifJson const document = {
      {"$schema", kSarifSchema}, {"version", "2.1.0"}, {"runs", SarifJson::array({run})}};

  return document.dump(1, ' ', false, SarifJson::error_handler_t::replace) + "\n";
}

}  // namespace stepscope::reports
