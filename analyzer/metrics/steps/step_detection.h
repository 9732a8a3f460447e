// Steps without marks: the period of the kernels' names on each device's main stream (DEFINITIONS,
// "Steps").
//
// Any stretch of kernels between two places with the same names around them may be a step. A length
// is a candidate if most of its stretches hold the same kernels: the same count of each name, in
// any order. The step is the largest candidate that is more than its smaller ones repeated. The
// layers of a step repeat, too, and so do micro-batches, but what follows them, the weights' update
// above all, is in a step once. A step that is followed by something else every tenth time (a log
// line, an evaluation) is no candidate: its kernels are all there in the shorter one.
//
// A step begins where no update of the weights follows for longest. Where kernels' names show no
// update, it begins after the longest usual idle time. The names of the kernels before it identify
// the place, so that all ranks of a data-parallel job find the same. What comes before the first
// whole step and after the last is in no step.
#pragma once

#include <span>

#include "analyzer/metrics/core/device_ops.h"
#include "analyzer/metrics/steps/steps.h"

namespace stepscope::analyzer {

/// How the kernels of a device repeat; comparable across processes.
struct StepPattern {
  uint64_t boundary =
      0;  ///< hash of the names of the `context` kernels before a step's first one, in their order
  uint32_t context = 0;  ///< at least 1
  uint64_t kernels = 0;  ///< names of a usual step, as a hash: which, and how often each
  size_t length = 0;     ///< kernels of a usual step
  bool updates = false;  ///< some of them update weights, by their names
  friend bool operator==(StepPattern const&, StepPattern const&) = default;
};

/// The steps of one device, and how much of it they explain.
struct DetectedSteps {
  std::optional<StepPattern> pattern;
  std::vector<HostStep>
      steps;  ///< in the device's time: from a step's first op to the next step's, numbered from 0
  uint64_t kernels = 0;  ///< on the main stream
  uint64_t alike = 0;    ///< of them: in steps that hold what the usual one holds
  /// Not the layers of a single step: they update weights, or most copy to the host, or the
  /// recording begins or ends with a piece of one.
  bool is_loop = false;
};
/// Uses one of the known patterns if it explains nearly everything, else searches: O(n log n). No
/// pattern where less than half of the kernels repeat three times or more.
DetectedSteps find_device_steps(DeviceOps const& device, std::span<StepPattern const> known = {});
/// The device's steps by another device's pattern. O(n).
DetectedSteps steps_by_pattern(DeviceOps const& device, StepPattern const& pattern);

/// The pattern that most of the devices have; of equally many that of the first. None without any.
std::optional<StepPattern> common_pattern(std::span<DetectedSteps const> devices);

/// Finds the steps of all devices of a run without marks. Fills `detected` and `confidence`, the
/// share of all kernels that are in equal steps, if that is at least kLeastConfidence. Where names
/// show that layers repeat it fills `layers`. Else it changes nothing.
void detect_steps(std::vector<DeviceOps> const& devices, HostSteps& steps);

/// Marked steps. Detected ones where none are marked, or where no launch of a device op is
/// recorded: marked steps tell nothing then. `devices`: of the run.
HostSteps find_steps(model::Run const& run, std::vector<DeviceOps> const& devices);

}  // namespace stepscope::analyzer
