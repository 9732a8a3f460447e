// The charts of the scaling panel. Each returns the point (index of ScalingSeries::points) that was
// clicked.
#pragma once

#include <cstddef>
#include <optional>

#include "viewer/comparison/scaling_view.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

/// Work per second against the number of devices, both logarithmic, so that ideal is a straight
/// line; with error bars.
std::optional<size_t> throughput_chart(ScalingView const& view, Theme theme);
/// Efficiency with its error bars, and the factors that make it.
std::optional<size_t> efficiency_chart(ScalingView const& view, Theme theme);

}  // namespace stepscope::viewer
