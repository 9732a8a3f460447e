// One parameter's update; see optimizer.h.
#include "workloads/training/optimizer.h"

#include <cmath>

namespace stepscope::workloads {

void update_parameter(Device& device, OptimizerSettings const& settings, Parameter const& p,
                      UpdateSlice const& slice, float rate, int64_t step) {
  char const* const name = p.update_name.c_str();
  if (settings.kind == OptimizerSettings::Kind::kSgd) {
    device.run(name, elementwise::SgdUpdate{slice.weights, slice.gradients, rate, p.decay},
               slice.count);
    return;
  }
  auto const correction = [&](float beta) {
    return static_cast<float>(1.0 - std::pow(beta, step + 1));
  };
  device.run(name,
             elementwise::AdamWUpdate{slice.weights, slice.gradients, slice.state,
                                      slice.state + slice.state_stride, rate, p.decay,
                                      settings.beta1, settings.beta2, settings.epsilon,
                                      correction(settings.beta1), correction(settings.beta2)},
             slice.count);
}

}  // namespace stepscope::workloads
