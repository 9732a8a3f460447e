#include "analyzer/metrics/steps/step_lengths.h"

#include <algorithm>
#include <utility>

#include "analyzer/metrics/core/quantile.h"

namespace stepscope::analyzer {
namespace {

Interval extent_of_step(Analysis const& analysis, int64_t number) {
  std::optional<Interval> extent;
  for (StepStats const& step : analysis.steps) {
    if (step.step != number) continue;
    for (Interval const& part : {step.host_window, step.window}) {
      if (part.length() <= 0) continue;
      extent = extent
                   ? Interval{std::min(extent->begin, part.begin), std::max(extent->end, part.end)}
                   : part;
    }
  }

  return extent.value_or(Interval{});
}

}  // namespace

std::optional<StepLengths> step_lengths(Analysis const& analysis) {
  std::vector<int64_t> lengths;
  for (StepPeriod const& period : step_periods(analysis))
    if (!period.step->warmup) lengths.push_back(period.when.length());
  if (analysis.steps.empty())
    for (HostStats const& host : analysis.hosts)
      for (HostStepStats const& step : host.steps)
        if (!step.warmup) lengths.push_back(step.period.length());
  if (lengths.empty()) return std::nullopt;

  StepLengths result;
  result.count = lengths.size();
  for (int64_t const length : lengths) result.sum_ns += static_cast<double>(length);
  std::sort(lengths.begin(), lengths.end());
  result.median_ns = quantile_of_sorted(lengths, 0.5);
  result.p95_ns = quantile_of_sorted(lengths, 0.95);
  return result;
}

std::optional<ExampleSteps> example_steps(Analysis const& analysis) {
  std::vector<std::pair<int64_t, int64_t>> lengths;  // (length, step)
  for (StepPeriod const& period : step_periods(analysis))
    if (!period.step->warmup) lengths.emplace_back(period.when.length(), period.step->step);
  if (lengths.empty()) return std::nullopt;

  std::sort(lengths.begin(), lengths.end());
  int64_t const typical = lengths[(lengths.size() - 1) / 2].second;
  int64_t const slowest = lengths.back().second;
  return ExampleSteps{{typical, extent_of_step(analysis, typical)},
                      {slowest, extent_of_step(analysis, slowest)}};
}

std::vector<StepGroup> step_groups(std::vector<StepPeriod> const& periods, DeviceRef ref,
                                   size_t most) {
  std::vector<StepPeriod const*> steps;
  for (StepPeriod const& period : periods)
    if (period.step->ref == ref && !period.step->warmup) steps.push_back(&period);
  size_t const size = std::max<size_t>(1, (steps.size() + most - 1) / most);

  std::vector<StepGroup> groups;
  for (size_t begin = 0; begin < steps.size(); begin += size) {
    size_t const count = std::min(size, steps.size() - begin);
    size_t const end = begin + count;
    StepGroup& group = groups.emplace_back();
    group.first = steps[begin]->step->step;
    group.last = steps[end - 1]->step->step;

    for (size_t i = begin; i < end; ++i)
      for (size_t p = 0; p < group.parts_ns.size(); ++p) group.parts_ns[p] += steps[i]->parts_ns[p];

    auto const divisor = static_cast<int64_t>(std::max<size_t>(count, 1));
    for (int64_t& ns : group.parts_ns) ns /= divisor;
  }

  return groups;
}

}  // namespace stepscope::analyzer
