// blocking-sync: the host stops until the device is done, so the device then stops until the host
// is back. Cost: idle time in the sync call after the device's work was over, and late launches in
// the same gap as far as the syncs cost them (sync_lead.h). Rule pageable-copies counts the time in
// which the host copies pageable memory.
#include "analyzer/rules/host/idle_cost.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {

void find_blocking_sync(RuleInput const& input, std::vector<Finding>& findings) {
  auto const counts = [](MeasuredDevice const& device, size_t place) {
    bool const is_in_sync =
        device.gaps.cause(place) == IdleCause::kSync && !device.gaps.is_staging(place);
    return is_in_sync || is_way_from_sync(device, place);
  };
  auto finding = find_idle_cost("blocking-sync", input, kWarningShare,
                                {IdleCause::kSync, IdleCause::kLaunchBound}, counts);
  if (finding) findings.push_back(std::move(*finding));
}

}  // namespace stepscope::analyzer
