#include "analyzer/scaling/cost_model.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "analyzer/compare/judgement.h"
#include "analyzer/compare/statistics.h"
#include "trace/base/check.h"

namespace stepscope::analyzer {
namespace {

using Coefficients = std::array<double, kMostCostTerms>;
using Square = std::array<Coefficients, kMostCostTerms>;

/// What is left of a column, as a share of it, when what other columns explain is taken out: less
/// is rounding.
constexpr double kLeastOwnShare = 1e-9;

/// Some of a model's terms, as columns of relative costs; the rest is held at zero.
struct Columns {
  std::vector<size_t> terms;
  std::vector<std::vector<double>> values;
};

double dot(std::vector<double> const& a, std::vector<double> const& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// X = Q R by Gram and Schmidt, each column twice, which is as exact as Householder's way. R is
/// upper triangular.
struct Decomposition {
  std::vector<std::vector<double>> q;
  Square r{};
};
std::optional<Decomposition> decompose(Columns const& columns) {
  Decomposition made;
  for (size_t c = 0; c < columns.values.size(); ++c) {
    std::vector<double> rest = columns.values[c];
    double const length = std::sqrt(dot(rest, rest));

    for (int pass = 0; pass < 2; ++pass)
      for (size_t k = 0; k < made.q.size(); ++k) {
        double const share = dot(made.q[k], rest);
        made.r[k][c] += share;
        for (size_t i = 0; i < rest.size(); ++i) rest[i] -= share * made.q[k][i];
      }

    double const own = std::sqrt(dot(rest, rest));
    if (!(own > kLeastOwnShare * length) || !std::isfinite(own)) return std::nullopt;
    made.r[c][c] = own;
    for (double& value : rest) value /= own;
    made.q.push_back(std::move(rest));
  }

  return made;
}

/// R⁻¹, upper triangular.
Square inverse(Square const& r, size_t size) {
  Square result{};

  for (size_t c = 0; c < size; ++c) {
    result[c][c] = 1 / r[c][c];
    for (size_t row = c; row-- > 0;) {
      double sum = 0;
      for (size_t k = row + 1; k <= c; ++k) sum += r[row][k] * result[k][c];
      result[row][c] = -sum / r[row][row];
    }
  }

  return result;
}

struct Solution {
  Coefficients coefficients{};
  Square unscaled_covariance{};
  double squared_error = 0;
  size_t free_terms = 0;
};

/// Least squares of columns · x = 1, over these terms alone.
std::optional<Solution> solve(Columns const& columns) {
  auto const parts = decompose(columns);
  if (!parts) return std::nullopt;

  size_t const size = columns.terms.size(), rows = columns.values.front().size();
  Square const inverted = inverse(parts->r, size);

  std::vector<double> const ones(rows, 1.0);
  std::vector<double> rest = ones;
  Coefficients projected{};
  for (size_t c = 0; c < size; ++c) {
    projected[c] = dot(parts->q[c], ones);
    for (size_t i = 0; i < rows; ++i) rest[i] -= projected[c] * parts->q[c][i];
  }

  Solution solution;
  solution.free_terms = size;
  solution.squared_error = dot(rest, rest);

  for (size_t a = 0; a < size; ++a) {
    for (size_t k = a; k < size; ++k)
      solution.coefficients[columns.terms[a]] += inverted[a][k] * projected[k];
    for (size_t b = 0; b < size; ++b)
      for (size_t k = std::max(a, b); k < size; ++k)
        solution.unscaled_covariance[columns.terms[a]][columns.terms[b]] +=
            inverted[a][k] * inverted[b][k];
  }

  return solution;
}

bool is_allowed(Solution const& solution) {
  return solution.coefficients[0] > 0 && solution.coefficients[1] >= 0 &&
         solution.coefficients[2] >= 0;
}

}  // namespace

double CostTerm::at(double devices) const {
  switch (shape) {
    case Shape::kConstant:
      return 1;
    case Shape::kOthers:
      return devices - 1;
    case Shape::kPairs:
      return devices * (devices - 1);
    case Shape::kPower:
      break;
  }
  return std::pow(devices, static_cast<double>(numerator) / denominator) *
         std::pow(std::log2(devices), logs);
}

std::optional<CostModel> CostModel::fit(std::vector<CostTerm> const& terms,
                                        std::span<CostPoint const> points) {
  STEPSCOPE_CHECK(!terms.empty() && terms.size() <= kMostCostTerms &&
                  terms[0].shape == CostTerm::Shape::kConstant);

  if (points.empty()) return std::nullopt;
  std::optional<Solution> best;
  // Which of the terms that grow are there, one bit each; of two that are as good the one with
  // fewer.
  for (unsigned kept = 0; kept < 1U << (terms.size() - 1); ++kept) {
    Columns columns;
    for (size_t t = 0; t < terms.size(); ++t) {
      if (t > 0 && (kept >> (t - 1) & 1U) == 0) continue;
      columns.terms.push_back(t);
      std::vector<double>& column = columns.values.emplace_back();
      for (CostPoint const& point : points)
        column.push_back(terms[t].at(point.devices) / point.cost);
    }

    if (columns.terms.size() > points.size()) continue;
    auto const solution = solve(columns);
    if (solution && is_allowed(*solution) &&
        (!best || solution->squared_error < best->squared_error))
      best = solution;
  }

  if (!best) return std::nullopt;

  CostModel model;
  model.terms_ = terms;
  model.coefficients_ = best->coefficients;
  model.unscaled_covariance_ = best->unscaled_covariance;
  model.squared_error_ = best->squared_error;
  // A coefficient that was held at zero was looked for all the same.
  model.degrees_ = points.size() > terms.size() ? points.size() - terms.size() : 0;
  return model;
}

CostModel::Vector CostModel::terms_at(double devices) const {
  Vector at{};
  for (size_t t = 0; t < terms_.size(); ++t) at[t] = terms_[t].at(devices);
  return at;
}

double CostModel::cost(double devices) const {
  Vector const at = terms_at(devices);
  double sum = 0;
  for (size_t t = 0; t < terms_.size(); ++t) sum += coefficients_[t] * at[t];
  return sum;
}

std::optional<double> CostModel::residual_share() const {
  if (degrees_ == 0) return std::nullopt;
  return std::sqrt(squared_error_ / static_cast<double>(degrees_));
}

std::optional<double> CostModel::variance_along(Vector const& gradient) const {
  auto const share = residual_share();
  if (!share) return std::nullopt;
  double sum = 0;
  for (size_t a = 0; a < terms_.size(); ++a)
    for (size_t b = 0; b < terms_.size(); ++b)
      sum += gradient[a] * unscaled_covariance_[a][b] * gradient[b];
  return std::max(sum, 0.0) * *share * *share;
}

double CostModel::t_quantile() const {
  return student_quantile(1 - kCompareConfidence, static_cast<double>(degrees_));
}

Estimate CostModel::predict(double devices) const {
  Estimate estimate{cost(devices), {}, {}};
  auto const variance = variance_along(terms_at(devices));
  if (!variance) return estimate;
  double const share = *residual_share();
  double const reach = std::exp(
      t_quantile() * std::sqrt(*variance / (estimate.value * estimate.value) + share * share));
  estimate.low = estimate.value / reach;
  estimate.high = estimate.value * reach;
  return estimate;
}

Estimate CostModel::gain_of_doubling(double devices) const {
  Vector const whole = terms_at(devices), half = terms_at(devices / 2);
  double const of_whole = cost(devices), of_half = cost(devices / 2);
  Estimate gain{2 * of_half / of_whole, {}, {}};

  Vector gradient{};
  for (size_t t = 0; t < terms_.size(); ++t)
    gradient[t] = 2 * (half[t] * of_whole - of_half * whole[t]) / (of_whole * of_whole);

  auto const variance = variance_along(gradient);
  if (!variance) return gain;
  double const reach = t_quantile() * std::sqrt(*variance);
  gain.low = gain.value - reach;
  gain.high = gain.value + reach;
  return gain;
}

Estimate CostModel::ratio_to_first(size_t term) const {
  double const first = coefficients_[0];
  Estimate ratio{coefficients_[term] / first, {}, {}};
  if (unscaled_covariance_[term][term] <= 0) return ratio;

  Vector gradient{};
  gradient[0] = -coefficients_[term] / (first * first);
  gradient[term] += 1 / first;

  auto const variance = variance_along(gradient);
  if (!variance) return ratio;
  double const reach = t_quantile() * std::sqrt(*variance);
  ratio.low = std::max(ratio.value - reach, 0.0);
  ratio.high = ratio.value + reach;
  return ratio;
}

size_t count_sizes(std::span<CostPoint const> points) {
  std::set<double> sizes;
  for (CostPoint const& point : points) sizes.insert(point.devices);
  return sizes.size();
}

std::optional<double> leave_one_out_error(std::vector<CostTerm> const& terms,
                                          std::span<CostPoint const> points) {
  std::set<double> sizes;
  for (CostPoint const& point : points) sizes.insert(point.devices);
  if (sizes.size() < terms.size() + 1) return std::nullopt;

  double sum = 0;
  for (double const left_out : sizes) {
    std::vector<CostPoint> others;
    for (CostPoint const& point : points)
      if (point.devices != left_out) others.push_back(point);

    auto const model = CostModel::fit(terms, others);
    if (!model) return std::nullopt;
    double squares = 0, count = 0;
    for (CostPoint const& point : points) {
      if (point.devices != left_out) continue;
      double const off = model->cost(left_out) / point.cost - 1;
      squares += off * off;
      ++count;
    }
    sum += squares / count;
  }

  return std::sqrt(sum / static_cast<double>(sizes.size()));
}

}  // namespace stepscope::analyzer
