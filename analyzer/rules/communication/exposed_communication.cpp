// exposed-communication: devices move data between each other while nothing computes. Cost: exposed
// communication per step, on the device that loses most. It excludes time in which the device only
// waited for its peers (rule straggler), and the cost of slow links (rule slow-link).
#include <algorithm>

#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// Some of the last bucket's all-reduce can never be hidden: there is no compute left behind it.
constexpr double kLeastExposedShare = 0.10;

/// Without what late peers or its own launch-bound time keep from being hidden.
int64_t exposed_transfer(MeasuredDevice const& device) {
  return std::max<int64_t>(
      0, device.exposed_comm_ns - device.exposed_late_ns - device.unhidden_comm_ns);
}

/// Share of the step in which a device is exposed to what rule slow-link has named.
double share_of_slow_links(std::vector<Finding> const& findings) {
  for (Finding const& finding : findings)
    for (auto const& [name, value] : finding.metrics)
      if (finding.rule == "slow-link" && name == "exposed_share") return value;
  return 0;
}

void add_evidence(Finding& finding, RuleInput const& input, MeasuredDevice const& device) {
  for (CollectiveStats const& collective : input.facts.collectives)
    for (auto const& participant : collective.participants)
      if (participant.ref == device.ref)
        finding.evidence.push_back(
            {device.ref,
             {participant.when.begin + participant.wait_ns, participant.when.end},
             participant.track.value});
  keep_longest(finding.evidence);
}

}  // namespace

void find_exposed_communication(RuleInput const& input, std::vector<Finding>& findings) {
  auto const share = [](MeasuredDevice const& device) {
    return device.total_ns > 0 ? static_cast<double>(exposed_transfer(device)) /
                                     static_cast<double>(device.total_ns)
                               : 0;
  };

  auto const worst = std::max_element(
      input.measured.begin(), input.measured.end(),
      [&](MeasuredDevice const& a, MeasuredDevice const& b) { return share(a) < share(b); });
  if (worst == input.measured.end() || share(*worst) < kLeastExposedShare) return;

  double const left = share(*worst) - share_of_slow_links(findings);
  if (left < kLeastExposedShare) return;

  Finding finding = make_cost_finding("exposed-communication", *worst, left * worst->step_ns());
  for (DeviceStats const& device : input.facts.devices)
    if (device.ref == worst->ref && device.time.overlap())
      finding.metrics.emplace_back("overlap", *device.time.overlap());
  finding.metrics.emplace_back("waiting_ns_per_step", worst->per_step(worst->exposed_late_ns));

  add_evidence(finding, input, *worst);
  findings.push_back(std::move(finding));
}

}  // namespace stepscope::analyzer
