#include "analyzer/compare/paired_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trace/base/check.h"

namespace stepscope::analyzer {
namespace {

struct SignedRanks {
  double positive = 0;   ///< sum of the ranks of positive differences
  double tie_terms = 0;  ///< Σ t³ − t over groups of t differences of one size
  size_t count = 0;      ///< that are not 0
};

SignedRanks rank_by_size(std::span<double const> differences) {
  std::vector<double> sorted;
  for (double const value : differences)
    if (value != 0) sorted.push_back(value);
  std::sort(sorted.begin(), sorted.end(),
            [](double a, double b) { return std::abs(a) < std::abs(b); });

  SignedRanks ranks;
  ranks.count = sorted.size();
  for (size_t first = 0; first < sorted.size();) {
    size_t last = first, positive = 0;
    while (last < sorted.size() && std::abs(sorted[last]) == std::abs(sorted[first]))
      positive += sorted[last++] > 0 ? 1 : 0;

    auto const equal = static_cast<double>(last - first);
    ranks.positive += static_cast<double>(positive) * static_cast<double>(first + 1 + last) / 2;
    ranks.tie_terms += equal * equal * equal - equal;
    first = last;
  }

  return ranks;
}

/// Walsh's averages, sorted.
std::vector<double> means_of_pairs(std::span<double const> differences) {
  std::vector<double> means;
  means.reserve(differences.size() * (differences.size() + 1) / 2);
  for (size_t i = 0; i < differences.size(); ++i)
    for (size_t j = i; j < differences.size(); ++j)
      means.push_back((differences[i] + differences[j]) / 2);
  std::sort(means.begin(), means.end());
  return means;
}

}  // namespace

SignedRankDistribution::SignedRankDistribution(size_t n) : cumulative_(n * (n + 1) / 2 + 1, 0) {
  STEPSCOPE_CHECK(n > 0 && n <= kMostExact);
  // Each rank 1 … n is in the sum or not. All terms are positive whole numbers, so nothing cancels.
  cumulative_[0] = 1;
  for (size_t rank = 1; rank <= n; ++rank)
    for (size_t sum = rank * (rank + 1) / 2; sum >= rank; --sum)
      cumulative_[sum] += cumulative_[sum - rank];
  std::partial_sum(cumulative_.begin(), cumulative_.end(), cumulative_.begin());
  double const all = cumulative_.back();
  for (double& value : cumulative_) value /= all;
}

size_t SignedRankDistribution::quantile(double p) const {
  return static_cast<size_t>(std::lower_bound(cumulative_.begin(), cumulative_.end(), p) -
                             cumulative_.begin());
}

SignedRankTest signed_rank(std::span<double const> differences, double confidence) {
  STEPSCOPE_CHECK(!differences.empty() && confidence > 0 && confidence < 1);
  SignedRanks const ranks = rank_by_size(differences);
  double const tail = (1 - confidence) / 2;

  auto const of_pairs = [](double n) { return n * (n + 1) / 2; };
  auto const nonzero = static_cast<double>(ranks.count),
             all = static_cast<double>(differences.size());

  SignedRankTest test;
  test.v = ranks.positive;
  test.exact =
      ranks.count == differences.size() && ranks.tie_terms == 0 && differences.size() <= kMostExact;

  std::vector<double> const means = means_of_pairs(differences);
  size_t place = 1;  // of the bounds among the means, from either end
  double const nearer = std::min(test.v, of_pairs(nonzero) - test.v);

  if (test.exact) {
    SignedRankDistribution const distribution(differences.size());
    test.p = std::min(1.0, 2 * distribution.cumulative(static_cast<size_t>(std::llround(nearer))));
    place = distribution.quantile(tail);
  } else {
    double const variance = nonzero * (nonzero + 1) * (2 * nonzero + 1) / 24 - ranks.tie_terms / 48;
    if (variance > 0)
      test.p =
          std::erfc(std::max(0.0, of_pairs(nonzero) / 2 - nearer - 0.5) / std::sqrt(2 * variance));
    double const nearest = of_pairs(all) / 2 +
                           normal_quantile(tail) * std::sqrt(all * (all + 1) * (2 * all + 1) / 24) +
                           0.5;
    if (nearest >= 1) place = static_cast<size_t>(nearest);
  }

  place = std::clamp<size_t>(place, 1, (means.size() + 1) / 2);
  test.shift.low = means[place - 1];
  test.shift.high = means[means.size() - place];
  test.shift.estimate = (means[(means.size() - 1) / 2] + means[means.size() / 2]) / 2;
  return test;
}

MeanTest student_of_pairs(std::span<double const> differences, double confidence) {
  STEPSCOPE_CHECK(!differences.empty() && confidence > 0 && confidence < 1);
  auto const n = static_cast<double>(differences.size());
  double const mean = std::accumulate(differences.begin(), differences.end(), 0.0) / n;
  double squares = 0;
  for (double const value : differences) squares += (value - mean) * (value - mean);
  return student_of(mean, std::sqrt(squares / std::max(n - 1, 1.0) / n), n - 1, confidence);
}

}  // namespace stepscope::analyzer
