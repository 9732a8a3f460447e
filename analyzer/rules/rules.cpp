// THE list of rules, and what they share.
#include "analyzer/rules/rules.h"

#include <algorithm>
#include <array>

#include "analyzer/rules/benchmark.h"
#include "analyzer/rules/finding_order.h"
#include "analyzer/rules/gain_limits.h"
#include "analyzer/rules/program_kind.h"
#include "analyzer/rules/sums.h"

namespace stepscope::analyzer {
namespace {

constexpr std::array kRules = {
    Rule{"device-error", find_device_error},
    Rule{"hung-collective", find_hung_collective},
    Rule{"input-bound", find_input_bound},
    Rule{"blocking-sync", find_blocking_sync},
    Rule{"allocation-in-step", find_allocation_in_step},
    Rule{"host-bound-launches", find_host_bound_launches},
    Rule{"launch-latency", find_launch_latency},
    Rule{"straggler", find_straggler},
    Rule{"slow-link", find_slow_link},
    Rule{"unequal-workers", find_unequal_workers},
    Rule{"pipeline-bubble", find_pipeline_bubble},
    Rule{"exposed-communication", find_exposed_communication},
    Rule{"small-buckets", find_small_buckets},
    Rule{"unbucketed-gradients", find_unbucketed_gradients},
    Rule{"apparent-bandwidth", find_apparent_bandwidth},
    Rule{"pageable-copies", find_pageable_copies},
    Rule{"serialized-copies", find_serialized_copies},
    Rule{"unfused-attention", find_unfused_attention},
    Rule{"misaligned-matrices", find_misaligned_matrices},
    Rule{"elementwise-dominated", find_elementwise_dominated},
    Rule{"tensor-cores-unused", find_tensor_cores_unused},
    Rule{"small-grids", find_small_grids},
    Rule{"serialized-streams", find_serialized_streams},
    Rule{"throttling", find_throttling},
    Rule{"memory-leak", find_memory_leak},
    Rule{"memory-fragmentation", find_memory_fragmentation},
    Rule{"memory-pressure", find_memory_pressure},
    Rule{"step-outliers", find_step_outliers},
    Rule{"warmup-in-measurement", find_warmup_in_measurement},
    Rule{"oversubscribed-host", find_oversubscribed_host},
    Rule{"profiler-overhead", find_profiler_overhead},
    Rule{"load-imbalance", find_load_imbalance},
    Rule{"unexplained-idle", find_unexplained_idle},
    Rule{"trace-quality", find_trace_integrity},
};

/// Whose advice is another one for programs without gradients.
void tell_inference(RuleInput const& input, std::vector<Finding>& findings) {
  constexpr std::array<std::string_view, 11> kRulesOfTraining = {
      "exposed-communication", "small-buckets",  "step-outliers",         "tensor-cores-unused",
      "host-bound-launches",   "launch-latency", "elementwise-dominated", "input-bound",
      "memory-pressure",       "memory-leak",    "warmup-in-measurement"};

  auto const depends = [&](Finding const& finding) {
    return std::find(kRulesOfTraining.begin(), kRulesOfTraining.end(), finding.rule) !=
           kRulesOfTraining.end();
  };

  if (std::none_of(findings.begin(), findings.end(), depends) ||
      !is_inference(input.run, input.facts))
    return;

  for (Finding& finding : findings)
    if (depends(finding)) finding.subjects.emplace_back("program", "inference");
}

}  // namespace

std::span<Rule const> all_rules() { return kRules; }

std::vector<Finding> find_all(model::Run const& run, Analysis const& facts) {
  return find_all(run, facts, measure_steps(facts));
}

std::vector<Finding> find_all(model::Run const& run, Analysis const& facts,
                              MeasuredSteps const& steps) {
  RuleInput const input{run, facts, steps.steady, steps};
  std::vector<Finding> findings;

  bool const is_of_benchmark = is_benchmark(run);
  bool const has_only_sums = is_of_sums(run);
  for (Rule const& rule : all_rules()) {
    bool const may_speak = (!is_of_benchmark || speaks_of_benchmarks(rule.name)) &&
                           (!has_only_sums || speaks_of_sums(rule.name));
    if (may_speak) rule.find(input, findings);
  }

  tell_inference(input, findings);
  limit_gains(input, findings);
  order_findings(findings);
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

  finding.metrics = {{"share", share},
                     {"step_ns", step},
                     {"steps", device.has_steps ? static_cast<double>(device.periods.size()) : 0}};
  return finding;
}

void keep_longest(std::vector<Finding::Evidence>& evidence) {
  auto const longer = [](Finding::Evidence const& a, Finding::Evidence const& b) {
    return a.when.length() > b.when.length();
  };
  std::stable_sort(evidence.begin(), evidence.end(), longer);
  if (evidence.size() > kMaxEvidence) evidence.resize(kMaxEvidence);
}

}  // namespace stepscope::analyzer
