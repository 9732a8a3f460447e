// step-outliers: a few steps take much longer than the others. Cost: what they take beyond the median step, spread over all
// steps; says which part of the step grew most.
#include <algorithm>
#include <array>

#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// With fewer steps there is no telling which length is the usual one.
constexpr size_t kFewestSteps = 8;
/// Well outside of what a healthy machine varies by.
constexpr double kOutlier = 1.5;
/// More than this share are not outliers but another population (evaluation, other sequence lengths).
constexpr double kMostOutliers = 0.25;

template <class Value>
Value median(std::vector<Value> values) {
  auto const middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

constexpr size_t kParts = 3 + kIdleCauseCount;
std::array<int64_t, kParts> parts(StepFacts const& step) {
  std::array<int64_t, kParts> result{step.time.compute_ns, step.time.exposed_comm_ns, step.time.exposed_copy_ns};
  std::copy(step.time.idle_by_cause.begin(), step.time.idle_by_cause.end(), result.begin() + 3);
  return result;
}
char const* part_name(size_t part) {
  constexpr std::array kNames = {"compute", "exposed_comm", "exposed_copy"};
  return part < kNames.size() ? kNames[part] : to_string(static_cast<IdleCause>(part - kNames.size()));
}

/// The part of the steps that grew most from the usual steps to the outliers.
std::string grown_part(std::vector<StepFacts const*> const& usual, std::vector<StepFacts const*> const& outliers) {
  std::array<double, kParts> growth{};
  for (StepFacts const* step : outliers)
    for (size_t p = 0; p < kParts; ++p) growth[p] += static_cast<double>(parts(*step)[p]) / static_cast<double>(outliers.size());
  for (StepFacts const* step : usual)
    for (size_t p = 0; p < kParts; ++p) growth[p] -= static_cast<double>(parts(*step)[p]) / static_cast<double>(usual.size());
  return part_name(static_cast<size_t>(std::max_element(growth.begin(), growth.end()) - growth.begin()));
}

std::optional<Finding> judge(MeasuredDevice const& device, std::vector<StepFacts const*> const& steps) {
  if (steps.size() < kFewestSteps) return std::nullopt;
  std::vector<int64_t> lengths;
  for (StepFacts const* step : steps) lengths.push_back(step->window.length());
  int64_t const usual_ns = median(lengths);
  std::vector<StepFacts const*> usual, outliers;
  int64_t excess = 0;
  for (StepFacts const* step : steps) {
    bool const is_outlier = static_cast<double>(step->window.length()) > kOutlier * static_cast<double>(usual_ns);
    (is_outlier ? outliers : usual).push_back(step);
    if (is_outlier) excess += step->window.length() - usual_ns;
  }
  if (outliers.empty() || static_cast<double>(outliers.size()) > kMostOutliers * static_cast<double>(steps.size()))
    return std::nullopt;
  Finding finding = make_cost_finding("step-outliers", device, device.per_step(excess));
  finding.severity = std::min(finding.severity, Severity::kWarning);
  finding.metrics.emplace_back("outliers", static_cast<double>(outliers.size()));
  finding.metrics.emplace_back("median_step_ns", static_cast<double>(usual_ns));
  finding.subjects.emplace_back("part", grown_part(usual, outliers));
  for (StepFacts const* step : outliers) finding.evidence.push_back({device.ref, step->window, std::nullopt});
  keep_longest(finding.evidence);
  return finding;
}

}  // namespace

void find_step_outliers(RuleInput const& input, std::vector<Finding>& findings) {
  std::optional<Finding> worst;
  for (MeasuredDevice const& device : input.measured) {
    std::vector<StepFacts const*> steps;
    auto const first = std::partition_point(input.facts.steps.begin(), input.facts.steps.end(),
                                            [&](StepFacts const& step) { return step.ref < device.ref; });
    for (auto step = first; step != input.facts.steps.end() && step->ref == device.ref; ++step)
      if (!step->warmup) steps.push_back(&*step);
    std::optional<Finding> finding = judge(device, steps);
    if (finding && (!worst || finding->cost_ns_per_step > worst->cost_ns_per_step)) worst = std::move(finding);
  }
  if (worst) findings.push_back(std::move(*worst));
}

}  // namespace stepscope::analyzer
