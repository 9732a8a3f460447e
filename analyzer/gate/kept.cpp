#include "analyzer/gate/kept.h"

#include <algorithm>

#include "analyzer/compare/comparison.h"

namespace stepscope::analyzer {

KeptBaseline describe_baseline(std::vector<RunMeasurements> const& runs, double least_share) {
  KeptBaseline kept;
  for (RunMeasurements const& run : runs) {
    double sum_ns = 0;
    for (double const ns : run.step_ns) sum_ns += ns;
    double const mean_ns = sum_ns / static_cast<double>(run.step_ns.size());
    kept.runs.push_back({run.name, run.steps.size(), mean_ns, run.peak_allocated_bytes});
    kept.step_ns += mean_ns / static_cast<double>(runs.size());
  }

  // Compared with themselves: a check will have as many new runs that vary as much.
  Comparison const comparison = compare_runs(runs, runs, {least_share});
  if (comparison.refusal) return kept;

  auto const step =
      std::find_if(comparison.metrics.begin(), comparison.metrics.end(),
                   [](Metric const& metric) { return metric.family == MetricFamily::kStep; });
  if (step == comparison.metrics.end()) return kept;

  kept.noise = noise_of(step->change, step->least);
  kept.unit = step->change.unit;
  return kept;
}

}  // namespace stepscope::analyzer
