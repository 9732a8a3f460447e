#include "analyzer/rules/host_costs.h"

#include <algorithm>

#include "analyzer/facts/host_steps.h"

namespace stepscope::analyzer {
namespace {

/// One rank is named when it came last to so many of the negotiations, three or more.
constexpr double kMostlyLast = 0.5;
constexpr uint64_t kFewestNegotiations = 3;

Finding make_host_finding(char const* rule, HostFacts const& host, int64_t cost_ns) {
  Finding finding;
  finding.rule = rule;
  finding.where = DeviceRef{host.rank_index, kHostDevice};
  finding.cost_ns_per_step = cost_ns;
  auto const step = static_cast<double>(*host.mean_ns);
  auto const cost = static_cast<double>(cost_ns);
  if (cost < step) finding.gain_ceiling = step / (step - cost) - 1;
  double const share = step > 0 ? cost / step : 0;
  finding.severity = severity_of_share(share);
  finding.metrics = {{"share", share}, {"step_ns", step}, {"steps", static_cast<double>(host.counted_steps)}};
  return finding;
}

/// Of the ranges that are waits for data, the one with most time in steps.
HostRangeFacts const* longest_wait(HostFacts const& host) {
  HostRangeFacts const* longest = nullptr;
  for (HostRangeFacts const& range : host.ranges) {
    if (range.kind != HostRangeKind::kInput || range.names != 1) continue;
    if (longest == nullptr || range.step_inclusive_ns.value_or(0) > longest->step_inclusive_ns.value_or(0)) longest = &range;
  }
  return longest;
}

}  // namespace

void find_host_input(RuleInput const& input, std::vector<Finding>& findings) {
  HostFacts const* worst = nullptr;
  for (HostFacts const& host : input.facts.hosts) {
    if (!host.mean_ns || *host.mean_ns <= 0) continue;
    if (static_cast<double>(*host.input_ns) < kWarningShare * static_cast<double>(*host.mean_ns)) continue;
    if (worst == nullptr || *host.input_ns > *worst->input_ns) worst = &host;
  }
  if (worst == nullptr) return;

  Finding finding = make_host_finding("input-bound", *worst, *worst->input_ns);
  if (HostRangeFacts const* wait = longest_wait(*worst)) finding.subjects.emplace_back("host_op", wait->name);
  for (HostStepFacts const& step : worst->steps)
    if (!step.warmup && step.input_ns > 0) finding.evidence.push_back({*finding.where, step.period, step.track});
  keep_longest(finding.evidence);
  findings.push_back(std::move(finding));
}

void find_host_outliers(RuleInput const& input, std::vector<Finding>& findings) {
  HostFacts const* worst = nullptr;
  auto const lost = [](HostFacts const& host) {
    return (host.slow->mean_ns - host.slow->usual_ns) / static_cast<int64_t>(host.counted_steps) *
           static_cast<int64_t>(host.slow->count);
  };
  for (HostFacts const& host : input.facts.hosts) {
    if (!host.slow || host.slow->count == 0) continue;
    if (worst == nullptr || lost(host) > lost(*worst)) worst = &host;
  }
  if (worst == nullptr) return;

  Finding finding = make_host_finding("step-outliers", *worst, lost(*worst));
  finding.metrics.emplace_back("outliers", static_cast<double>(worst->slow->count));
  finding.metrics.emplace_back("median_step_ns", static_cast<double>(*worst->median_ns));
  finding.metrics.emplace_back("growth_ns", static_cast<double>(worst->slow->differs_ns));
  if (worst->slow->differs) finding.subjects.emplace_back("host_op", *worst->slow->differs);
  for (HostStepFacts const& step : worst->steps)
    if (step.outlier) finding.evidence.push_back({*finding.where, step.period, step.track});
  keep_longest(finding.evidence);
  findings.push_back(std::move(finding));
}

void find_late_rank(RuleInput const& input, std::vector<Finding>& findings) {
  for (NegotiationFacts const& facts : input.facts.negotiations) {
    if (facts.count < kFewestNegotiations || facts.ranks.empty()) continue;
    NegotiationFacts::Rank const& late = facts.ranks.front();
    bool const is_mostly_last = static_cast<double>(late.last) > kMostlyLast * static_cast<double>(facts.count);
    double const share = facts.window_ns > 0 ? static_cast<double>(late.late_ns) / static_cast<double>(facts.window_ns) : 0;
    if (!is_mostly_last || share < kWarningShare) continue;

    Finding finding;
    finding.rule = "straggler";
    // Collectives of one moment are one piece of evidence, however many they are.
    finding.severity = late.moments > 1 ? severity_of_share(share) : Severity::kWarning;
    finding.metrics = {{"share", share},
                       {"late_rank", static_cast<double>(late.rank)},
                       {"last", static_cast<double>(late.last)},
                       {"negotiations", static_cast<double>(facts.count)},
                       {"late_ns", static_cast<double>(late.late_ns)},
                       {"mean_late_ns", static_cast<double>(late.mean_ns)},
                       {"longest_late_ns", static_cast<double>(late.longest_ns)},
                       {"moments", static_cast<double>(late.moments)}};
    finding.evidence.push_back({{facts.rank_index, kHostDevice}, late.worst, late.track});
    findings.push_back(std::move(finding));
  }
}

}  // namespace stepscope::analyzer
