// warmup-in-measurement: the first measured steps take much longer than all later ones, because
// something is still being made ready (kernels compiled or tuned, memory taken from the system,
// clocks rising). Nothing is lost in a long run, but every mean over these steps is too high. Cost:
// what they add to the mean of the measured steps.
#include <algorithm>

#include "analyzer/rules/rules.h"
#include "analyzer/rules/run/grown_steps.h"

namespace stepscope::analyzer {
namespace {

/// Comparisons take 2 % of a step for a real change: a smaller error of the mean misleads no
/// reader.
constexpr double kLeastAdded = 0.02;

size_t marked_warmup(Analysis const& facts, DeviceRef ref) {
  return static_cast<size_t>(
      std::count_if(facts.steps.begin(), facts.steps.end(),
                    [&](StepStats const& step) { return step.ref == ref && step.warmup; }));
}

}  // namespace

void find_warmup_in_measurement(RuleInput const& input, std::vector<Finding>& findings) {
  std::optional<size_t> worst;
  double most = 0;
  for (size_t d = 0; d < input.steps.all.size(); ++d) {
    MeasuredDevice const &all = input.steps.all[d], &slow = input.steps.slow_start[d];
    if (slow.periods.empty()) continue;
    auto const later = static_cast<double>(all.periods.size() - slow.periods.size());
    double const added = all.step_ns() - static_cast<double>(all.total_ns - slow.total_ns) / later;
    if (added <= most || added < kLeastAdded * all.step_ns()) continue;
    worst = d;
    most = added;
  }

  if (!worst) return;
  MeasuredDevice const &all = input.steps.all[*worst], &slow = input.steps.slow_start[*worst];
  Finding finding = make_cost_finding("warmup-in-measurement", all, most);
  finding.gain_ceiling.reset();  // steps do not get faster by being left out
  finding.severity = std::min(finding.severity, Severity::kWarning);
  auto const slow_steps = static_cast<double>(slow.periods.size());
  finding.metrics.emplace_back("slow_steps", slow_steps);
  finding.metrics.emplace_back(
      "steps_to_leave_out", slow_steps + static_cast<double>(marked_warmup(input.facts, all.ref)));
  finding.metrics.emplace_back(
      "median_step_ns", static_cast<double>(median_length(input.steps.steady[*worst].periods)));
  add_grown_part(input, input.steps.steady[*worst], slow, finding);
  for (Interval const& period : slow.periods)
    finding.evidence.push_back({all.ref, period, std::nullopt});
  keep_longest(finding.evidence);
  findings.push_back(std::move(finding));
}

}  // namespace stepscope::analyzer
