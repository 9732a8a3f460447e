// How far a job scales, by three models of its cost, with what each predicts for more devices than
// were measured (DEFINITIONS, "Scaling"). The models are Amdahl's law, the universal scalability
// law (Gunther, 1993) and the performance model normal form (Calotoiu et al., 2013: Extra-P). Pure:
// numbers in, numbers out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/scaling/cost_model.h"

namespace stepscope::analyzer {

enum class ScalingModel : uint8_t { kAmdahl, kUsl, kPmnf };
/// "amdahl", "usl", "pmnf".
char const* to_string(ScalingModel model);

/// With fewer different numbers of devices a model says nothing: Amdahl's has two coefficients and
/// USL three. PMNF chooses among many shapes by how well each predicts a point from the others: two
/// of three points always lie on a curve of any shape.
size_t fewest_sizes(ScalingModel model);

/// A doubling of the devices pays off as long as it gives so many times the work: of what is added
/// at least half comes to use.
inline constexpr double kLeastDoublingGain = 1.5;
/// No model is asked about more than so many times the devices that were measured: what limits a
/// job there need not show here.
inline constexpr uint64_t kFarthestExtrapolation = 16;

/// The most devices to which a doubling pays off; `is_open`: at least up to where models are asked.
struct ScalingLimit {
  uint64_t devices = 1;
  bool is_open = false;
};

struct ScalingFit {
  ScalingModel model = ScalingModel::kAmdahl;
  CostModel cost;
  CostTerm term;   ///< of PMNF: what the cost grows by
  Estimate sigma;  ///< of Amdahl and USL: what each further device adds to the cost, of that of one
                   ///< device
  Estimate kappa;  ///< of USL: the same of each pair of devices
  std::optional<double>
      loo_error;  ///< leave-one-out error, a share; none with too few numbers of devices
  std::optional<double> residual_share;  ///< how far the points are off the model, a share; none
                                         ///< without a point to spare
  std::optional<double>
      peak_devices;  ///< of USL with κ > 0: sqrt((1 − σ)/κ), more devices do less work
  std::optional<double> most_speedup;  ///< of Amdahl with σ > 0: 1/σ, over one device
  ScalingLimit pays_to;
  std::optional<ScalingLimit> pays_to_low,
      pays_to_high;  ///< by the 95 % interval of what doublings give
};

struct ScalingFits {
  std::vector<ScalingFit> fits;       ///< those that can be made, in the order of ScalingModel
  std::vector<ScalingModel> too_few;  ///< those that need more numbers of devices
  std::optional<size_t>
      best;  ///< of `fits`: least leave-one-out error; with too few points for one, Amdahl's
  uint64_t farthest_devices = 0;  ///< to which models are asked
};

/// Costs of runs, at any number of devices several.
ScalingFits fit_scaling(std::span<CostPoint const> points);

/// The term that PMNF chooses: i/j of Extra-P's exponents up to 3, l up to 2. The least
/// leave-one-out error wins; of equals the term that grows least; kConstant where nothing grows.
CostTerm choose_pmnf_term(std::span<CostPoint const> points);

}  // namespace stepscope::analyzer
