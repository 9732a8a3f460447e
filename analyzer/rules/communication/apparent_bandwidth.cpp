// apparent-bandwidth: large collectives take so long that links look slow, but some of their ranks
// were not recorded. The time includes waiting for the missing ranks, so bytes over time is a lower
// bound of the bandwidth. The recording does not show whether the links are slow or the others
// late. The finding has no cost for the same reason.
#include <algorithm>

#include "analyzer/metrics/communication/collectives.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// Smaller messages do not reach the bandwidth of any link.
constexpr uint64_t kLeastMessageBytes = uint64_t{1} << 20;
/// A median of fewer messages is chance.
constexpr size_t kFewestMessages = 3;
/// PCIe 3 and a network card of 100 Gbit/s carry more: no link that training uses is that slow by
/// design.
constexpr double kSlowGbps = 10;
/// As for exposed-communication.
constexpr double kLeastExposedTime = 0.10;

struct ApparentBandwidth {
  std::vector<double> gbps;
  uint64_t largest_bytes = 0;
  uint32_t expected = 0;
  std::vector<Finding::Evidence> evidence;
};

/// Over measured collectives of known size with a missing participant.
ApparentBandwidth bandwidth_of(RuleInput const& input, MeasuredDevice const& device) {
  ApparentBandwidth seen;
  for (CollectiveStats const& collective : input.facts.collectives) {
    bool const lacks_ranks = collective.participants.size() < collective.expected_participants;
    if (!lacks_ranks || model::is_point_to_point(collective.op) ||
        collective.bytes < kLeastMessageBytes)
      continue;

    for (auto const& own : collective.participants) {
      if (own.ref != device.ref || !device.is_measured(own.when.begin) ||
          collective.transfer_ns <= 0)
        continue;

      double const factor = bus_factor(collective.op, collective.expected_participants);
      seen.gbps.push_back(static_cast<double>(collective.bytes) * factor /
                          static_cast<double>(collective.transfer_ns));
      seen.largest_bytes = std::max(seen.largest_bytes, collective.bytes);
      seen.expected = std::max(seen.expected, collective.expected_participants);
      seen.evidence.push_back({device.ref, own.when, own.track.value});
    }
  }

  return seen;
}

}  // namespace

void find_apparent_bandwidth(RuleInput const& input, std::vector<Finding>& findings) {
  if (input.facts.integrity.missing_ranks.empty()) return;

  auto const exposed_share = [](MeasuredDevice const& device) {
    auto const exposed = static_cast<double>(device.exposed_comm_ns - device.unhidden_comm_ns);
    return device.total_ns > 0 ? exposed / static_cast<double>(device.total_ns) : 0;
  };

  auto const worst = std::max_element(input.measured.begin(), input.measured.end(),
                                      [&](MeasuredDevice const& a, MeasuredDevice const& b) {
                                        return exposed_share(a) < exposed_share(b);
                                      });
  if (worst == input.measured.end() || exposed_share(*worst) < kLeastExposedTime) return;

  ApparentBandwidth seen = bandwidth_of(input, *worst);
  if (seen.gbps.size() < kFewestMessages) return;
  std::sort(seen.gbps.begin(), seen.gbps.end());
  double const median = seen.gbps[seen.gbps.size() / 2];
  if (median >= kSlowGbps) return;

  Finding finding;
  finding.rule = "apparent-bandwidth";
  finding.where = worst->ref;
  finding.severity = Severity::kWarning;
  finding.metrics = {{"apparent_gbps", median},
                     {"at_least_gbps", seen.gbps.back()},
                     {"bytes", static_cast<double>(seen.largest_bytes)},
                     {"messages", static_cast<double>(seen.gbps.size())},
                     {"expected_ranks", static_cast<double>(seen.expected)},
                     {"exposed_share", exposed_share(*worst)}};
  finding.evidence = std::move(seen.evidence);
  keep_longest(finding.evidence);
  findings.push_back(std::move(finding));
}

}  // namespace stepscope::analyzer
