// One parameter's update; see optimizer.h.
#include "workloads/optimizer.h"

#include <cmath>

namespace stepscope::workloads {

void update_parameter(Device& device, OptimizerSettings const& settings, Parameter const& p, float* weights,
                      float const* gradients, float* state, size_t floats, float rate, int64_t step) {
  char const* const name = p.update_name.c_str();
  if (settings.kind == OptimizerSettings::Kind::kSgd) {
    device.run(name, elementwise::SgdUpdate{weights + p.offset, gradients + p.offset, rate, p.decay}, p.count);
    return;
  }
  auto const correction = [&](float beta) { return static_cast<float>(1.0 - std::pow(beta, step + 1)); };
  device.run(name,
             elementwise::AdamWUpdate{weights + p.offset, gradients + p.offset, state + p.offset, state + floats + p.offset, rate,
                                      p.decay, settings.beta1, settings.beta2, settings.epsilon, correction(settings.beta1),
                                      correction(settings.beta2)},
             p.count);
}

}  // namespace stepscope::workloads
