#include "python/native/judgements.h"

#include <string_view>
#include <utility>

#include "analyzer/compare/comparison.h"
#include "analyzer/gate/gate.h"
#include "analyzer/gate/kept_sample.h"
#include "gate/budget_file.h"
#include "gate/store.h"
#include "reports/json/comparison_json.h"
#include "reports/json/gate_json.h"
#include "reports/words/runs/comparison_words.h"
#include "trace/base/files/mapped_file.h"

namespace stepscope::python {
namespace {

using base::Expected;
using Samples = std::vector<analyzer::RunMeasurements>;

Samples samples_of(Runs const& runs) {
  Samples samples;
  for (auto const& run : runs) samples.push_back(run->sample());
  return samples;
}

Expected<Samples> kept_base(GateQuestion const& question, std::string const& name) {
  Samples all;
  for (auto const& each : question.base) {
    if (auto const* const run = std::get_if<std::shared_ptr<OpenRun>>(&each)) {
      all.push_back(analyzer::kept_sample((*run)->sample()));
      continue;
    }

    auto baseline = gate::read_baseline(std::get<std::string>(each), name);
    if (!baseline) return base::fail_with(baseline);
    all.insert(all.end(), baseline->runs.begin(), baseline->runs.end());
  }
  return all;
}

Expected<std::vector<analyzer::Budget>> budgets_of(std::string const& path,
                                                   std::string const& name) {
  if (path.empty()) return std::vector<analyzer::Budget>();
  auto const file = base::MappedFile::open(path);
  if (!file) return base::fail_with(file);
  std::string_view const text(reinterpret_cast<char const*>(file->bytes().data()),
                              file->bytes().size());
  return gate::parse_budgets(text, path, name);
}

}  // namespace

bool is_run_for_gate(std::string const& path) {
  return gate::kind_of(path) == gate::PathKind::kRun;
}

Expected<std::string> comparison_json(Runs const& base_runs, Runs const& candidate,
                                      double least_percent, bool is_paired) {
  analyzer::Comparison const comparison = analyzer::compare_runs(
      samples_of(base_runs), samples_of(candidate), {least_percent / 100, is_paired});
  if (comparison.refusal) return base::fail("{}", reports::refusal_text(comparison));
  return reports::comparison_json(comparison);
}

Expected<std::string> gate_json(GateQuestion const& question) {
  if (question.base.empty() && question.budget.empty())
    return base::fail("nothing to compare with, name a baseline or a budget");
  Samples candidate;
  for (auto& sample : samples_of(question.candidate)) {
    if (sample.steps.empty()) return base::fail("{}: has no steps", sample.name);
    candidate.push_back(analyzer::kept_sample(std::move(sample)));
  }
  if (candidate.empty()) return base::fail("name the runs to check");

  if (!question.name.empty())
    if (auto const good = gate::check_name(question.name); !good) return base::fail_with(good);
  std::string const name =
      question.name.empty() ? gate::workload_name(candidate.front()) : question.name;
  auto const base_samples = kept_base(question, name);
  if (!base_samples) return base::fail_with(base_samples);
  auto const budgets = budgets_of(question.budget, name);
  if (!budgets) return base::fail_with(budgets);

  analyzer::GateResult result = analyzer::check_runs(
      *base_samples, candidate, *budgets, {question.least_percent / 100, question.is_paired});
  if (result.comparison && result.comparison->refusal)
    return base::fail("{}", reports::refusal_text(*result.comparison));
  result.name = name;
  return reports::gate_json(result);
}

}  // namespace stepscope::python
