// How weights follow their gradients: plain SGD with weight decay, or AdamW with its two moments a weight.
#pragma once

#include <cstdint>

#include "workloads/backend/backend.h"
#include "workloads/parameters.h"

namespace stepscope::workloads {

struct OptimizerSettings {
  enum class Kind : uint8_t { kSgd, kAdamW };
  Kind kind = Kind::kSgd;
  float beta1 = 0.9F, beta2 = 0.999F, epsilon = 1e-8F;  ///< AdamW's

  /// Floats a weight that it remembers from step to step.
  [[nodiscard]] int64_t states() const { return kind == Kind::kAdamW ? 2 : 0; }
};

/// Enqueues the update of one parameter. `state`: states() arrays as large as `weights`, one behind the other, zero before the
/// first step. `step` counts from 0.
void update_parameter(Device& device, OptimizerSettings const& settings, Parameter const& parameter, float* weights,
                      float const* gradients, float* state, size_t floats, float rate, int64_t step);

}  // namespace stepscope::workloads
