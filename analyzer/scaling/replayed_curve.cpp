#include "analyzer/scaling/replayed_curve.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace stepscope::analyzer {

char const* to_string(CurveRefusal refusal) {
  constexpr std::array kNames = {"no_collectives", "pipeline", "groups",
                                 "no_replay",      "fidelity", "kernels"};
  return kNames[static_cast<size_t>(refusal)];
}

std::optional<double> ReplayedCurve::worst_error() const {
  std::optional<double> worst;
  for (ReplayedPoint const& point : points)
    if (point.error) worst = std::max(worst.value_or(0), std::abs(*point.error));
  return worst;
}

}  // namespace stepscope::analyzer
