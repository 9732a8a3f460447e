// Which device the panels show.
#pragma once

#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

/// A choice of the device that step strip, kernels and memory show; nothing with one device.
void device_chooser(Scene const& scene, ViewState& state);

}  // namespace stepscope::viewer
