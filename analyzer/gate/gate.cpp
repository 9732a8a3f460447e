#include "analyzer/gate/gate.h"

#include <algorithm>

#include "trace/base/check.h"

namespace stepscope::analyzer {
namespace {

bool are_host_devices(std::vector<RunMeasurements> const& runs) {
  return std::any_of(runs.begin(), runs.end(), [](RunMeasurements const& run) {
    return run.of_hosts ||
           std::any_of(run.device_names.begin(), run.device_names.end(),
                       [](std::string const& name) { return name.starts_with("host:"); });
  });
}

bool is_other_machine(GateResult const& result) {
  auto const& differences = result.comparison->differences;
  return std::any_of(differences.begin(), differences.end(), [&](Difference const& difference) {
    return is_of_machine(difference, result.has_host_devices);
  });
}

GateVerdict verdict_of(Verdict verdict) {
  if (verdict == Verdict::kMore) return GateVerdict::kFailed;
  return verdict == Verdict::kUnclear ? GateVerdict::kUnclear : GateVerdict::kPassed;
}

GateAnswer answer_of(GateResult const& result, size_t index) {
  Metric const& metric = result.comparison->metrics[index];
  bool const is_step = metric.family == MetricFamily::kStep;

  GateAnswer answer;
  answer.question = is_step ? GateQuestion::kStepTime : GateQuestion::kMemory;
  answer.index = index;
  answer.verdict = verdict_of(is_step ? result.comparison->verdict : metric.verdict);
  answer.noise = noise_of(metric.change, metric.least);

  if (result.is_other_machine)
    answer.verdict = GateVerdict::kUnclear;
  else if (metric.verdict == Verdict::kUnclear && !has_opposed_mean(metric.change, metric.least))
    answer.more = values_to_settle(metric.change, metric.least);
  return answer;
}

}  // namespace

char const* to_string(GateQuestion question) {
  constexpr std::array kNames = {"step_time", "memory", "budget"};
  return kNames[static_cast<size_t>(question)];
}

bool is_of_machine(Difference const& difference, bool host_devices) {
  if (difference.condition == Condition::kDevice || difference.condition == Condition::kDeviceCount)
    return true;
  bool const is_processor = difference.name == "cpu" || difference.name == "cores";
  return host_devices && difference.condition == Condition::kFact && is_processor;
}

GateResult check_runs(std::vector<RunMeasurements> const& base,
                      std::vector<RunMeasurements> const& candidate,
                      std::vector<Budget> const& budgets, CompareOptions const& options) {
  STEPSCOPE_CHECK(!candidate.empty());
  GateResult result;

  if (!base.empty()) {
    result.comparison = compare_runs(base, candidate, options);
    if (result.comparison->refusal) return result;
    result.has_host_devices = are_host_devices(candidate);
    result.is_other_machine = is_other_machine(result);

    for (size_t i = 0; i < result.comparison->metrics.size(); ++i) {
      Metric const& metric = result.comparison->metrics[i];
      bool const is_memory = metric.family == MetricFamily::kMemory && metric.name == "allocated";
      if (metric.family == MetricFamily::kStep || is_memory)
        result.answers.push_back(answer_of(result, i));
    }
  }

  for (Budget const& budget : budgets) {
    result.budgets.push_back(check_budget(budget, candidate));
    BudgetCheck const& check = result.budgets.back();
    result.answers.push_back({GateQuestion::kBudget, check.verdict, result.budgets.size() - 1,
                              std::nullopt, check.more});
  }

  for (GateAnswer const& answer : result.answers)
    result.verdict = worse(result.verdict, answer.verdict);
  return result;
}

}  // namespace stepscope::analyzer
