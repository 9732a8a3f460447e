// host-bound-launches: devices are idle because the host launches too late, busy with something else. Cost: idle time with cause
// `launch_starved`, without what follows a blocking sync (rule blocking-sync), or is nothing but the cost of launching kernels
// that are too short (rule launch-latency).
#include "analyzer/rules/idle_cost.h"
#include "analyzer/rules/launch_cost.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {

void find_host_bound_launches(RuleInput const& input, std::vector<Finding>& findings) {
  std::vector<std::vector<bool>> launch_cost;
  for (MeasuredDevice const& device : input.measured) launch_cost.push_back(launch_cost_gaps(input, device));
  auto const counts = [&](MeasuredDevice const& device, size_t place) {
    std::vector<bool> const& is_launch_cost = launch_cost[static_cast<size_t>(&device - input.measured.data())];
    if (!is_launch_cost.empty() && is_launch_cost[place]) return false;
    return device.gaps.cause(place) == IdleCause::kLaunchStarved && !is_way_from_sync(device, place);
  };
  auto finding = find_idle_cost("host-bound-launches", input, kWarningShare, {IdleCause::kLaunchStarved}, counts);
  if (finding) findings.push_back(std::move(*finding));
}

}  // namespace stepscope::analyzer
