#include "analyzer/compare/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "trace/base/check.h"

namespace stepscope::analyzer {
namespace {

/// Root by halving of what rises with its argument, f(low) ≤ 0 ≤ f(high): to the last bits of a
/// double.
template <class Function>
double rising_root(double low, double high, Function const& f) {
  constexpr int kHalvings = 200;  // more than a double has bits
  for (int i = 0; i < kHalvings; ++i) {
    double const middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (f(middle) < 0 ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

/// The continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300, kPrecision = 1e-16;
  constexpr int kMostTerms = 10'000;
  auto const away_from_0 = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };

  double c = 1, d = 1 / away_from_0(1 - (a + b) * x / (a + 1)), result = d;

  for (int i = 1; i < kMostTerms; ++i) {
    auto const m = static_cast<double>(i);
    double const even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_0(1 + even * d);
    c = away_from_0(1 + even / c);
    result *= d * c;

    double const odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_0(1 + odd * d);
    c = away_from_0(1 + odd / c);

    double const factor = d * c;
    result *= factor;
    if (std::abs(factor - 1) < kPrecision) break;
  }

  return result;
}

/// The regularized incomplete beta function I_x(a, b).
double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  double const front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

struct Ranked {
  double rank_sum = 0;   ///< of the first side, equal values share their ranks
  double tie_terms = 0;  ///< Σ t³ − t over groups of t equal values
};

Ranked rank_values(std::span<double const> x, std::span<double const> y) {
  std::vector<std::pair<double, bool>> all;
  all.reserve(x.size() + y.size());
  for (double const value : x) all.emplace_back(value, true);
  for (double const value : y) all.emplace_back(value, false);
  std::sort(all.begin(), all.end());

  Ranked ranked;
  for (size_t first = 0; first < all.size();) {
    size_t last = first, of_x = 0;
    while (last < all.size() && all[last].first == all[first].first)
      of_x += all[last++].second ? 1 : 0;

    auto const equal = static_cast<double>(last - first);
    ranked.rank_sum += static_cast<double>(of_x) * static_cast<double>(first + 1 + last) / 2;
    ranked.tie_terms += equal * equal * equal - equal;
    first = last;
  }

  return ranked;
}

bool is_exact(size_t n, size_t m, double tie_terms) {
  return n <= kMostExact && m <= kMostExact && tie_terms == 0;
}

/// The `place`-th smallest, from 0. Reorders.
double smallest(std::vector<double>& values, size_t place) {
  auto const at = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double mean_of(std::span<double const> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double squares_about_mean(std::span<double const> values, double mean) {
  double sum = 0;
  for (double const value : values) sum += (value - mean) * (value - mean);
  return sum;
}

}  // namespace

RankSumDistribution::RankSumDistribution(size_t n, size_t m) : n_(n), m_(m) {
  STEPSCOPE_CHECK(n > 0 && m > 0 && n <= kMostExact && m <= kMostExact);
  // counts[i][u] of (i, j): orders of i and j values with U = u. If the largest value is of the
  // first side, it adds j to the U of (i − 1, j). If it is of the other side, U is that of (i, j −
  // 1). All terms are positive whole numbers, so nothing cancels.
  std::vector<std::vector<double>> counts(n + 1, std::vector<double>(n * m + 1, 0));
  for (auto& row : counts) row[0] = 1;
  for (size_t j = 1; j <= m; ++j)
    for (size_t i = 1; i <= n; ++i)
      for (size_t u = i * j; u >= j; --u) counts[i][u] += counts[i - 1][u - j];

  cumulative_ = std::move(counts[n]);
  std::partial_sum(cumulative_.begin(), cumulative_.end(), cumulative_.begin());
  double const all = cumulative_.back();
  for (double& value : cumulative_) value /= all;
}

size_t RankSumDistribution::quantile(double p) const {
  return static_cast<size_t>(std::lower_bound(cumulative_.begin(), cumulative_.end(), p) -
                             cumulative_.begin());
}

RankSumDistribution const& RankSums::of(size_t n, size_t m) {
  for (RankSumDistribution const& known : known_)
    if (known.is_of(n, m)) return known;
  return known_.emplace_back(n, m);
}

RankTest mann_whitney(std::span<double const> x, std::span<double const> y, RankSums& sums) {
  STEPSCOPE_CHECK(!x.empty() && !y.empty());
  Ranked const ranked = rank_values(x, y);
  auto const n = static_cast<double>(x.size()), m = static_cast<double>(y.size()), all = n + m;

  RankTest test;
  test.u = ranked.rank_sum - n * (n + 1) / 2;
  double const nearer = std::min(test.u, n * m - test.u);

  if (is_exact(x.size(), y.size(), ranked.tie_terms)) {
    test.exact = true;
    test.p = std::min(
        1.0, 2 * sums.of(x.size(), y.size()).cumulative(static_cast<size_t>(std::llround(nearer))));
    return test;
  }

  double const variance = n * m / 12 * (all + 1 - ranked.tie_terms / (all * (all - 1)));
  if (variance <= 0) return test;  // all values are equal
  double const z = std::max(0.0, n * m / 2 - nearer - 0.5) / std::sqrt(variance);
  test.p = std::erfc(z / std::sqrt(2.0));
  return test;
}

Shift hodges_lehmann(std::span<double const> x, std::span<double const> y, double confidence,
                     RankSums& sums) {
  STEPSCOPE_CHECK(!x.empty() && !y.empty() && confidence > 0 && confidence < 1);

  size_t const pairs = x.size() * y.size();
  std::vector<double> differences;
  differences.reserve(pairs);
  for (double const of_y : y)
    for (double const of_x : x) differences.push_back(of_y - of_x);

  double const tail = (1 - confidence) / 2;
  size_t place = 1;  // of the bounds among the differences, from either end
  if (is_exact(x.size(), y.size(), rank_values(x, y).tie_terms)) {
    place = sums.of(x.size(), y.size()).quantile(tail);
  } else {
    auto const n = static_cast<double>(x.size()), m = static_cast<double>(y.size());
    double const nearest =
        n * m / 2 + normal_quantile(tail) * std::sqrt(n * m * (n + m + 1) / 12) + 0.5;
    if (nearest >= 1) place = static_cast<size_t>(nearest);
  }

  place = std::clamp<size_t>(place, 1, (pairs + 1) / 2);

  Shift shift;
  shift.low = smallest(differences, place - 1);
  shift.high = smallest(differences, pairs - place);
  shift.estimate = smallest(differences, pairs / 2);
  if (pairs % 2 == 0) shift.estimate = (shift.estimate + smallest(differences, pairs / 2 - 1)) / 2;
  return shift;
}

MeanTest student(std::span<double const> x, std::span<double const> y, double confidence) {
  STEPSCOPE_CHECK(!x.empty() && !y.empty() && confidence > 0 && confidence < 1);
  double const mean_x = mean_of(x), mean_y = mean_of(y);
  auto const n = static_cast<double>(x.size()), m = static_cast<double>(y.size());
  double const degrees = n + m - 2;
  double const variance =
      (squares_about_mean(x, mean_x) + squares_about_mean(y, mean_y)) / std::max(degrees, 1.0);
  return student_of(mean_y - mean_x, std::sqrt(variance * (1 / n + 1 / m)), degrees, confidence);
}

MeanTest student_of(double estimate, double error, double degrees, double confidence) {
  MeanTest test;
  test.shift.estimate = estimate;
  test.degrees = degrees;

  if (degrees <= 0) {
    test.shift.low = -std::numeric_limits<double>::infinity();
    test.shift.high = std::numeric_limits<double>::infinity();
    return test;
  }

  double const margin = student_quantile(1 - confidence, degrees) * error;
  test.shift.low = estimate - margin;
  test.shift.high = estimate + margin;

  if (error > 0)
    test.p = student_two_sided(estimate / error, degrees);
  else
    test.p = estimate == 0 ? 1 : 0;
  return test;
}

double student_two_sided(double t, double degrees) {
  STEPSCOPE_CHECK(degrees > 0);
  return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

double student_quantile(double p, double degrees) {
  STEPSCOPE_CHECK(p > 0 && p < 1);
  constexpr double kFarOut = 1e12;  // of one degree of freedom, p = 6e-13
  return rising_root(0, kFarOut, [&](double t) { return p - student_two_sided(t, degrees); });
}

double normal_quantile(double p) {
  STEPSCOPE_CHECK(p > 0 && p < 1);
  constexpr double kFarOut = 40;  // beyond, a double has no such p
  return rising_root(-kFarOut, kFarOut,
                     [&](double z) { return std::erfc(-z / std::sqrt(2.0)) / 2 - p; });
}

std::vector<double> holm(std::span<double const> p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });

  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, std::min(1.0, static_cast<double>(p.size() - i) * p[order[i]]));
    adjusted[order[i]] = largest;
  }

  return adjusted;
}

double lag_one_correlation(std::span<std::vector<double> const> runs) {
  constexpr double kLeastShare =
      0.7;  // runs of fewer than 10 values tell too little to correct it further
  double products = 0, squares = 0, values = 0, counted_runs = 0;

  for (std::vector<double> const& run : runs) {
    if (run.size() < 2) continue;
    double const mean = mean_of(run);
    for (size_t i = 0; i + 1 < run.size(); ++i) products += (run[i] - mean) * (run[i + 1] - mean);
    squares += squares_about_mean(run, mean);
    values += static_cast<double>(run.size());
    ++counted_runs;
  }

  if (squares <= 0) return 0;
  // About its own mean a run of n values has ρ − (1 + 3 ρ) / n.
  double const bias = counted_runs / values;
  return std::clamp((products / squares + bias) / std::max(1 - 3 * bias, kLeastShare), -1.0, 1.0);
}

std::vector<double> block_means(std::span<double const> values, size_t length) {
  STEPSCOPE_CHECK(length > 0);
  if (values.empty()) return {};

  size_t const blocks = std::max<size_t>(values.size() / length, 1);
  std::vector<double> means;
  means.reserve(blocks);
  for (size_t b = 0; b < blocks; ++b) {
    size_t const first = b * values.size() / blocks, last = (b + 1) * values.size() / blocks;
    means.push_back(mean_of(values.subspan(first, last - first)));
  }

  return means;
}

}  // namespace stepscope::analyzer
