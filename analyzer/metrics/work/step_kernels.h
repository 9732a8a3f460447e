// What the kernels of each step were, so that steps of one run can be compared with those of
// another. Each step of a device lists the calls and durations of the kernels with most time, by
// name, and of the others together. A kernel belongs to the step in whose window it begins. O(ops +
// steps log steps).
#pragma once

#include "analyzer/metrics/core/device_ops.h"

namespace stepscope::analyzer {

/// Names of a device that are told apart: the kernels of a large model have some dozens. What
/// bounds the memory: so many rows a step at most.
inline constexpr size_t kMostStepKernels = 64;

/// Fills `kernels` and `copied_in_bytes` of the steps, whose windows must be set. `ops`: of the
/// device, by start. `table`: the device's kernel table, over the same ops.
void add_step_kernels(DeviceOps const& device, std::vector<uint32_t> const& ops,
                      std::vector<KernelStats> const& table, std::vector<StepStats>& steps);

}  // namespace stepscope::analyzer
