#include "analyzer/gate/noise.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stepscope::analyzer {
namespace {

/// Steps that correlate less are taken for independent, as judgement does.
constexpr double kLeastCorrelation = 0.2;
/// So many standard errors a correlation may be off zero by chance: 1 of 10.
constexpr double kCorrelationErrors = 1.3;
/// With fewer independent values Student's interval is useless; the range of all values is
/// reported.
constexpr double kFewestIndependent = 4;
/// The interval of Hodges and Lehmann over that of the mean, of normal values: √(π / 3).
constexpr double kRankedOverMean = 1.0233;
/// Standard errors between a chance of one half and one of 0.8, of 0.9.
constexpr double kPower80 = 0.8416, kPower90 = 1.2816;

/// How many values were compared: of pairs as many on both sides.
struct Counts {
  CompareUnit unit = CompareUnit::kStep;
  double base = 0, candidate = 0;
};

/// Standard error of the difference, per standard deviation of a value (for pairs: of a pair's
/// difference).
double error_per_deviation(Counts const& of) {
  return std::sqrt(of.unit == CompareUnit::kPair ? 1 / of.candidate
                                                 : 1 / of.base + 1 / of.candidate);
}

/// The half width of an interval of error 1 − confidence `p`, per standard deviation of a value.
double width_per_deviation(double p, Counts const& of) {
  double const error = error_per_deviation(of);
  if (of.unit == CompareUnit::kPair) {
    // Signed ranks of a dozen pairs ask as much as Student's t does; of many both come to the
    // normal distribution.
    bool const are_ranked = of.candidate >= static_cast<double>(kFewestRankedPairs);
    return student_quantile(p, std::max(of.candidate - 1, 1.0)) *
           (are_ranked ? kRankedOverMean : 1) * error;
  }
  if (std::min(of.base, of.candidate) >= static_cast<double>(kFewestRankedValues))
    return -normal_quantile(p / 2) * kRankedOverMean * error;
  return student_quantile(p, std::max(of.base + of.candidate - 2, 1.0)) * error;
}

/// Standard errors between an even chance of a verdict and a chance for which the normal
/// distribution has `normal`. With few pairs the estimated deviation, by which Student's t divides,
/// varies as well (Johnson and Welch, 1940).
double spare_per_deviation(double normal, Counts const& of) {
  if (of.unit != CompareUnit::kPair) return normal * error_per_deviation(of);
  double const degrees = std::max(of.candidate - 1, 1.0),
               quantile = student_quantile(kMetricError, degrees);
  return normal * std::sqrt(1 + quantile * quantile / (2 * degrees)) * error_per_deviation(of);
}

Counts counts_of(Change const& change) {
  return {change.unit, static_cast<double>(change.base_values),
          static_cast<double>(change.candidate_values)};
}

double deviation_of(Change const& change) {
  double const half = (change.shift.high - change.shift.low) / 2;
  return half / width_per_deviation(1 - kCompareConfidence, counts_of(change));
}

/// Whether judge() is expected to have an answer.
bool settles(double change, double deviation, double least, Counts const& of) {
  double const half = deviation * width_per_deviation(1 - kCompareConfidence, of);
  double const beyond_chance = deviation * width_per_deviation(kMetricError, of);
  double const spare = deviation * spare_per_deviation(kPower80, of);
  if (change + half + spare <= least) return true;
  return change - spare > std::max(least + half, beyond_chance);
}

size_t most_more(CompareUnit unit) {
  return unit == CompareUnit::kRun || unit == CompareUnit::kPair ? kMostMoreRuns : kMostMoreValues;
}

/// The least count from 1 to `most` for which `is_enough` holds; it does for all greater ones.
template <class IsEnough>
std::optional<size_t> least_count(size_t most, IsEnough const& is_enough) {
  if (!is_enough(most)) return std::nullopt;
  size_t low = 0, high = most;  // not enough, enough
  while (high - low > 1) {
    size_t const middle = low + (high - low) / 2;
    (is_enough(middle) ? high : low) = middle;
  }
  return high;
}

double sum_of(std::vector<double> const& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// About their mean; 0 for a single one.
double deviation_of(std::vector<double> const& values, double mean) {
  if (values.size() < 2) return 0;
  double squares = 0;
  for (double const value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double independent_values(std::vector<double> const& steps) {
  auto const count = static_cast<double>(steps.size());
  double const correlation = lag_one_correlation(std::span(&steps, 1));
  if (correlation <= std::max(kLeastCorrelation, kCorrelationErrors / std::sqrt(count)))
    return count;
  return count * (1 - correlation) / (1 + correlation);
}

}  // namespace

MeanInterval measure_mean(std::span<std::vector<double> const> runs) {
  std::vector<double> values, steps;  // the steps of a run, for there may be only one
  for (std::vector<double> const& run : runs) {
    if (run.empty()) continue;
    steps = run;
    values.push_back(sum_of(run) / static_cast<double>(run.size()));
  }

  MeanInterval result;
  if (values.empty()) return result;

  result.unit = values.size() > 1 ? CompareUnit::kRun : CompareUnit::kStep;
  result.mean = sum_of(values) / static_cast<double>(values.size());
  if (values.size() == 1) values = steps;
  result.values = values.size();
  result.independent = result.unit == CompareUnit::kRun ? static_cast<double>(values.size())
                                                        : independent_values(values);

  result.deviation = deviation_of(values, result.mean);
  result.low = result.high = result.mean;
  if (result.unit == CompareUnit::kStep && values.size() < kFewestComparedSteps) return result;

  result.is_known = true;
  if (result.unit == CompareUnit::kStep && result.independent < kFewestIndependent) {
    result.low = *std::min_element(values.begin(), values.end());
    result.high = *std::max_element(values.begin(), values.end());
    return result;
  }

  double const half = student_quantile(1 - kCompareConfidence, result.independent - 1) *
                      result.deviation / std::sqrt(result.independent);
  result.low -= half;
  result.high += half;
  return result;
}

std::optional<Noise> noise_of(Change const& change, double least) {
  if (change.method == CompareMethod::kNone || change.drifts) return std::nullopt;
  Counts const counts = counts_of(change);

  Noise noise;
  noise.deviation = deviation_of(change);
  if (!std::isfinite(noise.deviation)) return std::nullopt;

  double const half = noise.deviation * width_per_deviation(1 - kCompareConfidence, counts);
  double const beyond_chance = noise.deviation * width_per_deviation(kMetricError, counts);
  noise.detectable_change = std::max(least + half, beyond_chance) +
                            noise.deviation * spare_per_deviation(kPower90, counts);
  return noise;
}

std::optional<MoreValues> values_to_settle(Change const& change, double least) {
  auto const noise = noise_of(change, least);
  if (!noise) return std::nullopt;

  double const by = std::abs(change.shift.estimate);
  Counts const counts = counts_of(change);
  bool const are_pairs = change.unit == CompareUnit::kPair;

  MoreValues needed;
  needed.unit = are_pairs || change.unit == CompareUnit::kRun ? change.unit : CompareUnit::kStep;
  size_t const most = most_more(needed.unit);

  auto const settle_with = [&](size_t of_base, size_t of_candidate) {
    Counts const then{counts.unit, counts.base + static_cast<double>(of_base),
                      counts.candidate + static_cast<double>(of_candidate)};
    return settles(by, noise->deviation, least, then);
  };

  std::optional<size_t> count;
  if (!are_pairs) count = least_count(most, [&](size_t k) { return settle_with(0, k); });
  // The base alone may vary too much, and then no new side is long enough; nor should it have to be
  // many times as long.
  if (!count || *count > 2 * change.base_values) {
    if (auto const on_both = least_count(most, [&](size_t k) { return settle_with(k, k); })) {
      count = on_both;
      needed.on_both_sides = true;
    }
  }

  if (!count) return std::nullopt;
  needed.count = *count * change.steps_per_value;
  return needed;
}

std::optional<MoreValues> values_to_settle(MeanInterval const& mean, double limit) {
  bool const is_drift = mean.unit == CompareUnit::kStep && mean.independent < kFewestIndependent;
  double const away = std::abs(mean.mean - limit);
  if (!mean.is_known || is_drift || away <= 0) return std::nullopt;

  double const independent_share = mean.independent / static_cast<double>(mean.values);
  size_t most = most_more(mean.unit);
  if (mean.unit == CompareUnit::kStep)
    most = std::min(most, std::max(kMostTimesMoreSteps * mean.values, kMostMoreSteps));
  auto const count = least_count(most, [&](size_t k) {
    double const values = (static_cast<double>(mean.values + k)) * independent_share;
    if (values <= 1) return false;
    double const error = mean.deviation / std::sqrt(values);
    return (student_quantile(1 - kCompareConfidence, values - 1) + kPower80) * error < away;
  });
  if (!count) return std::nullopt;

  MoreValues needed;
  needed.count = *count;
  needed.unit = mean.unit;
  return needed;
}

}  // namespace stepscope::analyzer
