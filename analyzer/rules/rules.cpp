// THE list of rules, and what they share.
#include "analyzer/rules/rules.h"

#include <algorithm>
#include <array>

namespace stepscope::analyzer {
namespace {

constexpr std::array kRules = {
    Rule{"hung-collective", find_hung_collective},
    Rule{"input-bound", find_input_bound},
    Rule{"blocking-sync", find_blocking_sync},
    Rule{"allocation-in-step", find_allocation_in_step},
    Rule{"host-bound-launches", find_host_bound_launches},
    Rule{"straggler", find_straggler},
    Rule{"exposed-communication", find_exposed_communication},
    Rule{"small-buckets", find_small_buckets},
    Rule{"serialized-copies", find_serialized_copies},
    Rule{"memory-leak", find_memory_leak},
    Rule{"memory-pressure", find_memory_pressure},
    Rule{"step-outliers", find_step_outliers},
    Rule{"oversubscribed-host", find_oversubscribed_host},
    Rule{"unexplained-idle", find_unexplained_idle},
    Rule{"trace-quality", find_trace_quality},
};

}  // namespace

std::span<Rule const> all_rules() { return kRules; }

std::vector<Finding> find_all(model::Run const& run, Analysis const& facts) {
  MeasuredSteps const steps = measure_steps(facts);
  RuleInput const input{run, facts, steps.usual, steps};
  std::vector<Finding> findings;
  for (Rule const& rule : all_rules()) rule.find(input, findings);
  std::stable_sort(findings.begin(), findings.end(), [](Finding const& a, Finding const& b) {
    if (a.severity != b.severity) return a.severity > b.severity;
    return a.cost_ns_per_step.value_or(-1) > b.cost_ns_per_step.value_or(-1);
  });
  return findings;
}

Severity severity_of_share(double share) {
  if (share >= kCriticalShare) return Severity::kCritical;
  return share >= kWarningShare ? Severity::kWarning : Severity::kInfo;
}

Finding make_cost_finding(char const* rule, MeasuredDevice const& device, double cost_ns_per_step) {
  Finding finding;
  finding.rule = rule;
  finding.where = device.ref;
  double const step = device.step_ns();
  if (device.has_steps) finding.cost_ns_per_step = static_cast<int64_t>(cost_ns_per_step);
  if (cost_ns_per_step < step) finding.gain_ceiling = step / (step - cost_ns_per_step) - 1;
  double const share = step > 0 ? cost_ns_per_step / step : 0;
  finding.severity = severity_of_share(share);
  finding.metrics = {
      {"share", share}, {"step_ns", step}, {"steps", device.has_steps ? static_cast<double>(device.periods.size()) : 0}};
  return finding;
}

void keep_longest(std::vector<Finding::Evidence>& evidence) {
  auto const longer = [](Finding::Evidence const& a, Finding::Evidence const& b) { return a.when.length() > b.when.length(); };
  std::stable_sort(evidence.begin(), evidence.end(), longer);
  if (evidence.size() > kMaxEvidence) evidence.resize(kMaxEvidence);
}

}  // namespace stepscope::analyzer
