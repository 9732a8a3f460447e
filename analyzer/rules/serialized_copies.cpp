// serialized-copies: memory is copied while nothing computes or communicates. Cost: exposed copy time, per step. Where that is
// pageable or blocking copies for the most part, pageable-copies speaks.
#include <algorithm>

#include "analyzer/rules/copy_cost.h"
#include "analyzer/rules/rules.h"
#include "analyzer/rules/slow_cost.h"

namespace stepscope::analyzer {
namespace {

void add_serialized_evidence(Finding& finding, RuleInput const& input, MeasuredDevice const& device) {
  for (DeviceFacts const& facts : input.facts.devices) {
    if (facts.ref != device.ref) continue;
    for (DeviceFacts::Copy const& copy : facts.longest_copies)
      if (device.is_measured(copy.when.begin)) finding.evidence.push_back({device.ref, copy.when, copy.track});
  }
  keep_longest(finding.evidence);
}

}  // namespace

void find_serialized_copies(RuleInput const& input, std::vector<Finding>& findings) {
  auto const share = [&](MeasuredDevice const& device) {
    if (is_about_pageable_copies(device, measured_slow_time(input, device))) return 0.0;
    return device.total_ns > 0 ? static_cast<double>(device.exposed_copy_ns) / static_cast<double>(device.total_ns) : 0;
  };
  auto const worst = std::max_element(input.measured.begin(), input.measured.end(),
                                      [&](MeasuredDevice const& a, MeasuredDevice const& b) { return share(a) < share(b); });
  if (worst == input.measured.end() || share(*worst) < kWarningShare) return;
  Finding finding = make_cost_finding("serialized-copies", *worst, worst->per_step(worst->exposed_copy_ns));
  add_serialized_evidence(finding, input, *worst);
  findings.push_back(std::move(finding));
}

}  // namespace stepscope::analyzer
