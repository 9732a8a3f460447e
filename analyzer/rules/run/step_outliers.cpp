// step-outliers: a few steps take much longer than the others. Cost: what they take beyond a usual
// step, spread over all steps; says which part of the step grew most and what the host did
// meanwhile. What they lose counts for no other rule.
#include "analyzer/rules/host/host_costs.h"
#include "analyzer/rules/rules.h"
#include "analyzer/rules/run/grown_steps.h"

namespace stepscope::analyzer {
namespace {

/// What the outliers take beyond usual steps, without waiting for a peer whose step is as long: the
/// peer knows why. ns in all.
double own_excess(MeasuredDevice const& steady, MeasuredDevice const& outliers) {
  auto const own = [](MeasuredDevice const& device) {
    return device.per_step(device.total_ns - device.exposed_late_ns);
  };
  return (own(outliers) - own(steady)) * static_cast<double>(outliers.periods.size());
}

Finding make_finding(RuleInput const& input, MeasuredDevice const& all,
                     MeasuredDevice const& steady, MeasuredDevice const& outliers) {
  int64_t const steady_ns = median_length(all.periods);
  int64_t const excess =
      outliers.total_ns - static_cast<int64_t>(outliers.periods.size()) * steady_ns;
  Finding finding = make_cost_finding("step-outliers", all, all.per_step(excess));

  finding.metrics.emplace_back("outliers", static_cast<double>(outliers.periods.size()));
  finding.metrics.emplace_back("median_step_ns", static_cast<double>(steady_ns));
  add_grown_part(input, steady, outliers, finding);
  for (Interval const& period : outliers.periods)
    finding.evidence.push_back({all.ref, period, std::nullopt});
  keep_longest(finding.evidence);
  return finding;
}

}  // namespace

void find_step_outliers(RuleInput const& input, std::vector<Finding>& findings) {
  std::optional<size_t> worst;
  double most = 0;
  for (size_t d = 0; d < input.steps.all.size(); ++d) {
    if (input.steps.outliers[d].periods.empty()) continue;
    double const lost = own_excess(input.steps.steady[d], input.steps.outliers[d]);
    if (worst && lost <= most) continue;
    worst = d;
    most = lost;
  }

  if (worst)
    findings.push_back(make_finding(input, input.steps.all[*worst], input.steps.steady[*worst],
                                    input.steps.outliers[*worst]));
  find_host_outliers(input, findings);
}

}  // namespace stepscope::analyzer
