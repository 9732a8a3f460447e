#include "analyzer/scaling/mean_error.h"

#include <cmath>
#include <numeric>

#include "analyzer/compare/judgement.h"
#include "analyzer/compare/statistics.h"

namespace stepscope::analyzer {
namespace {

double mean_of_independent(std::vector<double> const& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Variance of the mean of `values`, which are independent.
void add_variance(std::vector<double> const& values, MeanError& error) {
  if (values.size() < 2) return;
  double const mean = mean_of_independent(values), count = static_cast<double>(values.size());
  double squares = 0;
  for (double const value : values) squares += (value - mean) * (value - mean);
  error.variance = squares / (count - 1) / count;
  error.degrees = count - 1;
}

}  // namespace

MeanError mean_error(std::span<std::vector<double> const> runs) {
  std::vector<double> values;
  for (std::vector<double> const& run : runs) values.push_back(mean_of_independent(run));
  MeanError error;
  error.mean = mean_of_independent(values);

  if (runs.size() == 1) {
    // The blocks by which the run would be compared with its like.
    RankSums sums;
    Change const change = measure_change(runs, runs, sums);
    error.drifts = change.drifts;
    values = block_means(runs.front(), change.steps_per_value);
  }

  add_variance(values, error);
  return error;
}

Estimate interval_of(MeanError const& mean) {
  if (!mean.variance) return {mean.mean, {}, {}};
  double const reach =
      student_quantile(1 - kCompareConfidence, mean.degrees) * std::sqrt(*mean.variance);
  return {mean.mean, mean.mean - reach, mean.mean + reach};
}

Estimate ratio_of(MeanError const& above, MeanError const& below, double factor) {
  Estimate ratio{factor * above.mean / below.mean, {}, {}};
  if (!above.variance || !below.variance) return ratio;

  double const of_above = *above.variance / (above.mean * above.mean),
               of_below = *below.variance / (below.mean * below.mean);
  double const variance = of_above + of_below;
  if (variance <= 0) return {ratio.value, ratio.value, ratio.value};

  double const degrees =
      variance * variance /
      (of_above * of_above / above.degrees + of_below * of_below / below.degrees);
  double const reach =
      std::exp(student_quantile(1 - kCompareConfidence, degrees) * std::sqrt(variance));
  ratio.low = ratio.value / reach;
  ratio.high = ratio.value * reach;
  return ratio;
}

}  // namespace stepscope::analyzer
