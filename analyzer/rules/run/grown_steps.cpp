#include "analyzer/rules/run/grown_steps.h"

#include <algorithm>
#include <array>

#include "analyzer/metrics/core/quantile.h"
#include "analyzer/rules/host/idle_cost.h"

namespace stepscope::analyzer {
namespace {

constexpr size_t kParts = 3 + kIdleCauseCount;

/// Means per step.
std::array<double, kParts> parts(MeasuredDevice const& device) {
  std::array<double, kParts> result{device.per_step(device.compute_ns),
                                    device.per_step(device.exposed_comm_ns),
                                    device.per_step(device.exposed_copy_ns)};
  for (size_t i = 0; i < device.idle.size(); ++i) result[3 + i] = device.per_step(device.idle[i]);
  return result;
}

char const* part_name(size_t part) {
  constexpr std::array kNames = {"compute", "exposed_comm", "exposed_copy"};
  return part < kNames.size() ? kNames[part]
                              : to_string(static_cast<IdleCause>(part - kNames.size()));
}

size_t grown_part(MeasuredDevice const& steady, MeasuredDevice const& longer) {
  std::array<double, kParts> growth = parts(longer);
  std::array<double, kParts> const before = parts(steady);
  for (size_t p = 0; p < kParts; ++p) growth[p] -= before[p];
  return static_cast<size_t>(std::max_element(growth.begin(), growth.end()) - growth.begin());
}

}  // namespace

void add_grown_part(RuleInput const& input, MeasuredDevice const& steady,
                    MeasuredDevice const& longer, Finding& finding) {
  size_t const part = grown_part(steady, longer);
  finding.subjects.emplace_back("part", part_name(part));
  if (part < 3) return;

  auto const cause = static_cast<IdleCause>(part - 3);
  std::vector<size_t> gaps;
  for (size_t i = 0; i < longer.gaps.size(); ++i)
    if (longer.gaps.cause(i) == cause) gaps.push_back(i);

  std::string host = busiest_host_op(input, longer, gaps);
  if (!host.empty()) finding.subjects.emplace_back("host_op", std::move(host));
}

int64_t median_length(std::vector<Interval> const& periods) {
  std::vector<int64_t> lengths;
  for (Interval const& period : periods) lengths.push_back(period.length());
  return lower_median(lengths);
}

}  // namespace stepscope::analyzer
