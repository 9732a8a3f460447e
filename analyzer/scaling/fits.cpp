#include "analyzer/scaling/fits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace stepscope::analyzer {
namespace {

using Shape = CostTerm::Shape;

/// Errors that differ by less than this share are equal: rounding must not choose a model.
constexpr double kSameError = 1e-9;
/// No job has more devices; bounds the search.
constexpr uint64_t kMostDevices = uint64_t{1} << 20;

/// The exponents that Extra-P tries by itself, smallest first.
constexpr std::array<std::pair<int, int>, 11> kExponents = {
    {{0, 1}, {1, 4}, {1, 3}, {1, 2}, {2, 3}, {3, 4}, {1, 1}, {3, 2}, {2, 1}, {5, 2}, {3, 1}}};
constexpr int kMostLogs = 2;

std::vector<CostTerm> terms_of(ScalingModel model, CostTerm const& pmnf) {
  CostTerm const constant;
  switch (model) {
    case ScalingModel::kAmdahl:
      return {constant, {Shape::kOthers}};
    case ScalingModel::kUsl:
      return {constant, {Shape::kOthers}, {Shape::kPairs}};
    case ScalingModel::kPmnf:
      break;
  }
  if (pmnf == constant) return {constant};
  return {constant, pmnf};
}

/// The last number of devices to which `gain(n)` is enough, from 2 on.
template <class Gain>
ScalingLimit last_that_pays(uint64_t farthest, Gain const& gain) {
  for (uint64_t devices = 2; devices <= farthest; ++devices)
    if (!(gain(static_cast<double>(devices)) >= kLeastDoublingGain)) return {devices - 1, false};
  return {farthest, true};
}

void add_scaling_limits(ScalingFit& fit, uint64_t farthest) {
  fit.pays_to =
      last_that_pays(farthest, [&](double n) { return fit.cost.gain_of_doubling(n).value; });
  if (!fit.residual_share) return;
  fit.pays_to_low =
      last_that_pays(farthest, [&](double n) { return *fit.cost.gain_of_doubling(n).low; });
  fit.pays_to_high =
      last_that_pays(farthest, [&](double n) { return *fit.cost.gain_of_doubling(n).high; });
}

std::optional<ScalingFit> fit_model(ScalingModel model, std::span<CostPoint const> points,
                                    uint64_t farthest) {
  CostTerm const pmnf = model == ScalingModel::kPmnf ? choose_pmnf_term(points) : CostTerm{};
  std::vector<CostTerm> const terms = terms_of(model, pmnf);
  auto const cost = CostModel::fit(terms, points);
  if (!cost) return std::nullopt;

  ScalingFit fit;
  fit.model = model;
  fit.cost = *cost;
  fit.term = pmnf;
  fit.loo_error = leave_one_out_error(terms, points);
  fit.residual_share = cost->residual_share();

  if (model != ScalingModel::kPmnf) fit.sigma = cost->ratio_to_first(1);
  if (model == ScalingModel::kUsl) fit.kappa = cost->ratio_to_first(2);
  if (model == ScalingModel::kUsl && fit.kappa.value > 0)
    fit.peak_devices = fit.sigma.value < 1 ? std::sqrt((1 - fit.sigma.value) / fit.kappa.value) : 0;
  if (model == ScalingModel::kAmdahl && fit.sigma.value > 0) fit.most_speedup = 1 / fit.sigma.value;

  add_scaling_limits(fit, farthest);
  return fit;
}

std::optional<size_t> best_of(std::vector<ScalingFit> const& fits) {
  if (fits.empty()) return std::nullopt;
  size_t best = 0;
  for (size_t i = 1; i < fits.size(); ++i) {
    auto const &error = fits[i].loo_error, &least = fits[best].loo_error;
    if (error && (!least || *error < *least * (1 - kSameError))) best = i;
  }
  return best;
}

}  // namespace

char const* to_string(ScalingModel model) {
  constexpr std::array kNames = {"amdahl", "usl", "pmnf"};
  return kNames[static_cast<size_t>(model)];
}

size_t fewest_sizes(ScalingModel model) {
  constexpr std::array<size_t, 3> kFewest = {2, 3, 4};
  return kFewest[static_cast<size_t>(model)];
}

CostTerm choose_pmnf_term(std::span<CostPoint const> points) {
  CostTerm chosen;
  auto const constant = leave_one_out_error({chosen}, points);
  if (!constant) return chosen;
  double least = *constant;

  for (auto const& [numerator, denominator] : kExponents)
    for (int logs = 0; logs <= kMostLogs; ++logs) {
      if (numerator == 0 && logs == 0) continue;
      CostTerm const term{Shape::kPower, numerator, denominator, logs};
      auto const error = leave_one_out_error({CostTerm{}, term}, points);
      if (!error || *error >= least * (1 - kSameError)) continue;
      least = *error;
      chosen = term;
    }

  return chosen;
}

ScalingFits fit_scaling(std::span<CostPoint const> points) {
  ScalingFits result;
  size_t const sizes = count_sizes(points);
  double largest = 0;
  for (CostPoint const& point : points) largest = std::max(largest, point.devices);
  result.farthest_devices =
      std::min(static_cast<uint64_t>(largest) * kFarthestExtrapolation, kMostDevices);

  for (auto const model : {ScalingModel::kAmdahl, ScalingModel::kUsl, ScalingModel::kPmnf}) {
    if (sizes < fewest_sizes(model)) {
      result.too_few.push_back(model);
      continue;
    }
    if (auto const fit = fit_model(model, points, result.farthest_devices))
      result.fits.push_back(*fit);
  }

  result.best = best_of(result.fits);
  return result;
}

}  // namespace stepscope::analyzer
