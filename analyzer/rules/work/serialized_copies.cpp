// serialized-copies: memory is copied while nothing computes or communicates. Cost: exposed time,
// per step, of the copies within the device, or of all others, whichever is longer: they have
// nothing but their name in common. Where that is pageable or blocking copies for the most part,
// pageable-copies speaks.
#include <algorithm>

#include "analyzer/rules/rules.h"
#include "analyzer/rules/work/copy_cost.h"
#include "analyzer/rules/work/slow_cost.h"

namespace stepscope::analyzer {
namespace {

void add_serialized_evidence(Finding& finding, RuleInput const& input,
                             MeasuredDevice const& device) {
  for (DeviceStats const& facts : input.facts.devices) {
    if (facts.ref != device.ref) continue;
    for (DeviceStats::Copy const& copy : facts.longest_copies)
      if (device.is_measured(copy.when.begin))
        finding.evidence.push_back({device.ref, copy.when, copy.track});
  }
  keep_longest(finding.evidence);
}

/// The part of a device's time that one kind of copies takes.
struct ExposedCopies {
  int64_t ns = 0;
  double share = 0;
  bool is_within_device = false;
};

ExposedCopies exposed_copies(MeasuredDevice const& device, SlowTime const& slow) {
  if (is_about_pageable_copies(device, slow) || device.total_ns <= 0) return {};
  ExposedCopies copies;
  int64_t const others = device.exposed_copy_ns - slow.device_copy_ns;
  copies.is_within_device = slow.device_copy_ns > others;
  copies.ns = std::max(others, slow.device_copy_ns);
  copies.share = static_cast<double>(copies.ns) / static_cast<double>(device.total_ns);
  return copies;
}

}  // namespace

bool are_all_pinned(std::vector<CopyStats> const& copies, DeviceRef ref) {
  bool is_known = false;
  for (CopyStats const& facts : copies) {
    bool const is_of_host = facts.direction == model::CopyDirection::kHostToDevice ||
                            facts.direction == model::CopyDirection::kDeviceToHost;
    if (facts.ref != ref || !is_of_host) continue;
    if (facts.pageable_count != uint64_t{0}) return false;
    is_known = true;
  }
  return is_known;
}

void find_serialized_copies(RuleInput const& input, std::vector<Finding>& findings) {
  MeasuredDevice const* worst = nullptr;
  ExposedCopies most;

  for (MeasuredDevice const& device : input.measured) {
    ExposedCopies const copies = exposed_copies(device, measured_slow_time(input, device));
    if (copies.share <= most.share) continue;
    worst = &device;
    most = copies;
  }

  if (worst == nullptr || most.share < kWarningShare) return;
  Finding finding = make_cost_finding("serialized-copies", *worst, worst->per_step(most.ns));

  finding.subjects.emplace_back("copies", most.is_within_device ? "within_device" : "host");
  if (!most.is_within_device && are_all_pinned(input.facts.copies, worst->ref))
    finding.subjects.emplace_back("memory", "pinned");

  add_serialized_evidence(finding, input, *worst);
  findings.push_back(std::move(finding));
}

}  // namespace stepscope::analyzer
