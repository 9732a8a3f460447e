// Whether detected steps are the layers of a model (DEFINITIONS, "Steps"). They are where the host
// ranges that launch their first kernels name layers whose numbers grow by one from each to the
// next. Where the numbers begin again the program begins another step: the steps are from there to
// there.
#pragma once

#include <optional>
#include <span>

#include "analyzer/metrics/core/device_ops.h"
#include "analyzer/metrics/steps/steps.h"
#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// What the detected stretches of a device are.
struct LayerRepeats {
  RepeatedLayers layers;
  /// Where the numbers begin again, the whole ones: from there to there, numbered from 0; else
  /// empty.
  std::vector<HostStep> steps;
  double in_steps = 0;  ///< share of the stretches that lie in `steps`
};

/// `stretches`: in the device's time. None where names tell of no layers. O(events of the process).
std::optional<LayerRepeats> find_layers(DeviceOps const& device,
                                        std::span<HostStep const> stretches);

}  // namespace stepscope::analyzer
