// host-bound-launches: devices are idle because the host launches too late, busy with something else. Cost: idle time with cause
// `launch_starved`, without what follows a blocking sync (rule blocking-sync).
#include "analyzer/rules/idle_cost.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {

void find_host_bound_launches(RuleInput const& input, std::vector<Finding>& findings) {
  auto const counts = [&input](MeasuredDevice const& device, size_t place) {
    return device.gaps[place].cause == IdleCause::kLaunchStarved && !is_way_from_sync(input, device, place);
  };
  auto finding = find_idle_cost("host-bound-launches", input, kWarningShare, counts);
  if (finding) findings.push_back(std::move(*finding));
}

}  // namespace stepscope::analyzer
