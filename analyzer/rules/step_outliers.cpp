// step-outliers: a few steps take much longer than the others. Cost: what they take beyond a usual step, spread over all steps;
// says which part of the step grew most and what the host did meanwhile. What they lose counts for no other rule.
#include <algorithm>
#include <array>

#include "analyzer/rules/idle_cost.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

constexpr size_t kParts = 3 + kIdleCauseCount;
/// Means per step.
std::array<double, kParts> parts(MeasuredDevice const& device) {
  std::array<double, kParts> result{device.per_step(device.compute_ns), device.per_step(device.exposed_comm_ns),
                                    device.per_step(device.exposed_copy_ns)};
  for (size_t i = 0; i < device.idle.size(); ++i) result[3 + i] = device.per_step(device.idle[i]);
  return result;
}
char const* part_name(size_t part) {
  constexpr std::array kNames = {"compute", "exposed_comm", "exposed_copy"};
  return part < kNames.size() ? kNames[part] : to_string(static_cast<IdleCause>(part - kNames.size()));
}

/// The part of the step that grew most from the usual steps to the outliers.
size_t grown_part(MeasuredDevice const& usual, MeasuredDevice const& outliers) {
  std::array<double, kParts> growth = parts(outliers);
  std::array<double, kParts> const before = parts(usual);
  for (size_t p = 0; p < kParts; ++p) growth[p] -= before[p];
  return static_cast<size_t>(std::max_element(growth.begin(), growth.end()) - growth.begin());
}

/// What the outliers take beyond usual steps, without waiting for a peer whose step is as long: the peer knows why. ns in all.
double own_excess(MeasuredDevice const& usual, MeasuredDevice const& outliers) {
  auto const own = [](MeasuredDevice const& device) { return device.per_step(device.total_ns - device.exposed_wait_ns); };
  return (own(outliers) - own(usual)) * static_cast<double>(outliers.periods.size());
}

int64_t median_length(std::vector<Interval> const& periods) {
  std::vector<int64_t> lengths;
  for (Interval const& period : periods) lengths.push_back(period.length());
  auto const middle = lengths.begin() + static_cast<ptrdiff_t>((lengths.size() - 1) / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return *middle;
}

Finding make_finding(RuleInput const& input, MeasuredDevice const& all, MeasuredDevice const& usual,
                     MeasuredDevice const& outliers) {
  int64_t const usual_ns = median_length(all.periods);
  int64_t const excess = outliers.total_ns - static_cast<int64_t>(outliers.periods.size()) * usual_ns;
  Finding finding = make_cost_finding("step-outliers", all, all.per_step(excess));
  finding.metrics.emplace_back("outliers", static_cast<double>(outliers.periods.size()));
  finding.metrics.emplace_back("median_step_ns", static_cast<double>(usual_ns));
  size_t const part = grown_part(usual, outliers);
  finding.subjects.emplace_back("part", part_name(part));
  if (part >= 3) {
    auto const cause = static_cast<IdleCause>(part - 3);
    std::vector<size_t> gaps;
    for (size_t i = 0; i < outliers.gaps.size(); ++i)
      if (outliers.gaps[i].cause == cause) gaps.push_back(i);
    std::string host = busiest_host_op(input, outliers, gaps);
    if (!host.empty()) finding.subjects.emplace_back("host_op", std::move(host));
  }
  for (Interval const& period : outliers.periods) finding.evidence.push_back({all.ref, period, std::nullopt});
  keep_longest(finding.evidence);
  return finding;
}

}  // namespace

void find_step_outliers(RuleInput const& input, std::vector<Finding>& findings) {
  std::optional<size_t> worst;
  double most = 0;
  for (size_t d = 0; d < input.steps.all.size(); ++d) {
    if (input.steps.outliers[d].periods.empty()) continue;
    double const lost = own_excess(input.steps.usual[d], input.steps.outliers[d]);
    if (worst && lost <= most) continue;
    worst = d;
    most = lost;
  }
  if (worst)
    findings.push_back(make_finding(input, input.steps.all[*worst], input.steps.usual[*worst], input.steps.outliers[*worst]));
}

}  // namespace stepscope::analyzer
