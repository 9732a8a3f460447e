// small-buckets: collectives are so small that most of their time is latency. Cost: the latency
// saved if the collectives of a step went as one, alpha × (count − 1), per step. It is at most the
// exposed communication: hidden latency costs nothing. Still a ceiling: some of the exposed part is
// transfer.
#include <algorithm>
#include <map>
#include <optional>

#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// Without a line through sizes and times all are small that have no bandwidth to speak of on any
/// link.
constexpr uint64_t kSmallMessageBytes = uint64_t{1} << 20;
/// Sizes that differ by less than this may well take equally long.
constexpr uint64_t kLeastSpread = 16;
constexpr size_t kFewestOfGroup = 40;

/// At this size a message reaches half the link's bandwidth; below, latency is the larger part.
bool is_small(CollectiveStats const& collective, LinkFit const& fit) {
  double const limit =
      fit.samples > 0 ? fit.half_bandwidth_bytes : static_cast<double>(kSmallMessageBytes);
  return static_cast<double>(collective.bytes) < limit;
}
/// Fewer than this many a step cannot be merged to much effect.
constexpr double kFewestPerStep = 4;
/// Merging is a small change (a bucket size), so it pays from here on.
constexpr double kLeastShare = 0.03;

MeasuredDevice const* measured_device(RuleInput const& input, DeviceRef ref) {
  for (MeasuredDevice const& device : input.measured)
    if (device.ref == ref) return &device;
  return nullptr;
}

/// Lines for communicators and operations without a fit. If small messages of very different sizes
/// take no longer the larger they are, all of their time is latency.
std::vector<LinkFit> lines_of_latency(RuleInput const& input) {
  struct SmallMessages {
    std::vector<int64_t> transfers;
    uint64_t least = UINT64_MAX, most = 0;
  };
  std::map<std::pair<uint64_t, model::CollectiveOp>, SmallMessages> groups;
  for (CollectiveStats const& collective : input.facts.collectives) {
    if (!collective.busbw_gbps || collective.bytes >= kSmallMessageBytes) continue;
    SmallMessages& group = groups[{collective.communicator, collective.op}];
    group.transfers.push_back(collective.transfer_ns);
    group.least = std::min(group.least, collective.bytes);
    group.most = std::max(group.most, collective.bytes);
  }
  for (LinkFit const& fit : input.facts.links) groups.erase({fit.communicator, fit.op});

  std::vector<LinkFit> lines;
  for (auto& [key, group] : groups) {
    if (group.transfers.size() < kFewestOfGroup || group.most / kLeastSpread < group.least)
      continue;
    auto const middle =
        group.transfers.begin() + static_cast<ptrdiff_t>(group.transfers.size() / 2);
    std::nth_element(group.transfers.begin(), middle, group.transfers.end());
    LinkFit line{key.first, key.second};
    line.alpha_us = static_cast<double>(*middle) / 1e3;
    lines.push_back(line);
  }
  return lines;
}

void judge(RuleInput const& input, LinkFit const& fit, std::vector<Finding>& findings) {
  MeasuredDevice const* device = nullptr;  // the first participant's device stands for all
  int64_t count = 0;
  double bytes = 0;
  std::vector<Finding::Evidence> evidence;

  for (CollectiveStats const& collective : input.facts.collectives) {
    if (collective.communicator != fit.communicator || collective.op != fit.op ||
        !is_small(collective, fit))
      continue;

    auto const& participant = collective.participants.front();
    if (device == nullptr) device = measured_device(input, participant.ref);
    if (device == nullptr || !device->is_measured(participant.when.begin)) continue;

    ++count;
    bytes += static_cast<double>(collective.bytes);
    evidence.push_back({participant.ref, participant.when, std::nullopt});
  }

  if (device == nullptr) return;
  double const per_step = device->per_step(count);
  double const exposed = device->per_step(device->exposed_comm_ns - device->exposed_late_ns);
  double const cost = std::min(fit.alpha_us * 1e3 * (per_step - 1), exposed);
  if (per_step < kFewestPerStep || cost < kLeastShare * device->step_ns()) return;

  Finding finding = make_cost_finding("small-buckets", *device, cost);
  finding.severity = Severity::kWarning;  // a ceiling, not a measured loss
  finding.metrics.emplace_back("collectives_per_step", per_step);
  finding.metrics.emplace_back("mean_bytes", bytes / static_cast<double>(count));
  if (fit.samples > 0)
    finding.metrics.emplace_back("half_bandwidth_bytes", fit.half_bandwidth_bytes);
  finding.metrics.emplace_back("alpha_us", fit.alpha_us);

  finding.evidence = std::move(evidence);
  keep_longest(finding.evidence);
  findings.push_back(std::move(finding));
}

}  // namespace

void find_small_buckets(RuleInput const& input, std::vector<Finding>& findings) {
  for (LinkFit const& fit : input.facts.links) judge(input, fit, findings);
  for (LinkFit const& line : lines_of_latency(input)) judge(input, line, findings);
}

}  // namespace stepscope::analyzer
