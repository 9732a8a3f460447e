// Makes one scenario's run, analyzes it and holds the first finding against the truth.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "tests/ground_truth/scenarios.h"
#include "trace/import/open/open_run.h"
#include "trace/synth/synth.h"

namespace stepscope::ground_truth {
namespace {

using analyzer::Finding;

/// Share of the injected cost by which a stated cost may differ from it.
constexpr double kCostTolerance = 0.10;

void note_truth(nlohmann::json const& fault, Outcome& outcome) {
  if (fault.at("expected_finding").is_string()) outcome.expected = fault.at("expected_finding");
  if (fault.at("cost_ns_per_step").is_number())
    outcome.injected_ns = fault.at("cost_ns_per_step").get<int64_t>();
  if (fault.at("rank").is_number()) outcome.expected_rank = fault.at("rank").get<int32_t>();
}

void note_findings(analyzer::Analysis const& analysis, model::Run const& run, Outcome& outcome) {
  auto const& findings = analysis.findings;
  if (!findings.empty() && findings.front().severity > analyzer::Severity::kInfo) {
    outcome.found = findings.front().rule;
    if (auto const where = findings.front().where)
      outcome.found_rank = run.ranks[static_cast<size_t>(where->rank_index)].trace.info().rank;
  }

  auto const expected = std::find_if(findings.begin(), findings.end(), [&](Finding const& finding) {
    return finding.rule == outcome.expected;
  });
  if (expected != findings.end()) outcome.stated_ns = expected->cost_ns_per_step;
}

/// Makes and reads it. Returns what went wrong, or nothing.
std::string try_play(Scenario const& scenario, std::string const& folder, Outcome& outcome) {
  synth::SynthOptions options;
  options.pattern = synth::find_pattern(scenario.pattern);
  options.ranks = scenario.ranks;
  options.steps = scenario.steps;
  options.seed = scenario.seed;

  auto const fault = synth::parse_fault(scenario.fault);
  if (!fault) return fault.error().message;
  options.fault = *fault;
  if (auto const made = synth::make_run(options, folder); !made) return made.error().message;

  std::ifstream file(folder + "/truth.json");
  nlohmann::json const truth = nlohmann::json::parse(file, nullptr, false);
  if (!truth.is_object()) return "truth.json cannot be read";
  note_truth(truth.at("fault"), outcome);

  auto const run = import::open_run(folder);
  if (!run) return run.error().message;
  note_findings(analyzer::analyze(*run), *run, outcome);
  return {};
}

}  // namespace

bool Outcome::is_right() const {
  return error.empty() && expected == found && (!expected_rank || expected_rank == found_rank);
}

bool Outcome::is_cost_right() const {
  if (!injected_ns) return true;
  if (!stated_ns) return false;
  auto const injected = static_cast<double>(*injected_ns);
  return std::abs(static_cast<double>(*stated_ns) - injected) <= kCostTolerance * injected;
}

Outcome play(Scenario const& scenario, std::string const& folder) {
  Outcome outcome;
  outcome.scenario = scenario.name();
  outcome.error = try_play(scenario, folder, outcome);
  return outcome;
}

}  // namespace stepscope::ground_truth
