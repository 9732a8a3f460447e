// The charts of the scaling panel. Each returns the point (index of ScalingSeries::points) that was
// clicked.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "viewer/comparison/scaling_curves.h"
#include "viewer/comparison/scaling_view.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

/// What models and the replay predict.
struct PredictedScaling {
  analyzer::ScalingSeries series;    ///< with the replay, once it is there
  std::vector<ScalingCurve> curves;  ///< of it
};

/// Work per second against the number of devices, both logarithmic, so that ideal is a straight
/// line; with error bars, the models and the replay.
std::optional<size_t> throughput_chart(ScalingView const& view, PredictedScaling const& predicted,
                                       Theme theme);
/// Efficiency with its error bars, and the factors that make it.
std::optional<size_t> efficiency_chart(ScalingView const& view, Theme theme);

}  // namespace stepscope::viewer
