// How weights follow their gradients: plain SGD with weight decay, or AdamW with its two moments a
// weight.
#pragma once

#include <cstdint>

#include "workloads/backend/backend.h"
#include "workloads/training/parameters.h"

namespace stepscope::workloads {

struct OptimizerSettings {
  enum class Kind : uint8_t { kSgd, kAdamW };
  Kind kind = Kind::kSgd;
  float beta1 = 0.9F, beta2 = 0.999F, epsilon = 1e-8F;  ///< AdamW's

  /// Floats a weight that it remembers from step to step.
  [[nodiscard]] int64_t states() const { return kind == Kind::kAdamW ? 2 : 0; }
};

/// A parameter's elements, or some of them, and what goes with them. Element i of the optimizer's
/// array k is state[k · state_stride + i], zero before the first step. `state` is null where
/// states() is 0.
struct UpdateSlice {
  float* weights;
  float const* gradients;
  float* state;
  size_t state_stride;
  size_t count;
};
/// Enqueues the update of `slice`, which belongs to `parameter`. `step` counts from 0.
void update_parameter(Device& device, OptimizerSettings const& settings, Parameter const& parameter,
                      UpdateSlice const& slice, float rate, int64_t step);

}  // namespace stepscope::workloads
