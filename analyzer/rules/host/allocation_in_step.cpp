// allocation-in-step: devices are idle because the host is in calls that allocate or free device
// memory. Cost: idle time with cause `allocation`, per step.
#include "analyzer/rules/host/idle_cost.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// Lower than for other causes: the calls are easily moved out of the step, and they synchronize
/// devices behind one's back.
constexpr double kLeastAllocationShare = 0.02;

}  // namespace

void find_allocation_in_step(RuleInput const& input, std::vector<Finding>& findings) {
  auto finding =
      find_idle_cost("allocation-in-step", input, kLeastAllocationShare, IdleCause::kAllocation);
  if (!finding) return;
  finding->severity = std::max(finding->severity, Severity::kWarning);
  for (DeviceStats const& device : input.facts.devices)
    if (device.ref == *finding->where && device.memory.pinning_calls_per_step.value_or(0) > 0)
      finding->metrics.emplace_back("pinning_calls_per_step",
                                    *device.memory.pinning_calls_per_step);
  findings.push_back(std::move(*finding));
}

}  // namespace stepscope::analyzer
