#include "analyzer/rules/gain_limits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace stepscope::analyzer {
namespace {

/// What shortens the devices' own work, and with it the step only where that work is the
/// bottleneck.
constexpr std::array<std::string_view, 8> kAboutDevices = {
    "tensor-cores-unused", "small-grids",           "serialized-streams", "serialized-copies",
    "small-buckets",       "exposed-communication", "slow-link",          "throttling"};
constexpr std::array<std::string_view, 5> kAboutHost = {
    "input-bound", "host-bound-launches", "launch-latency", "blocking-sync", "allocation-in-step"};

bool is_one_of(std::span<std::string_view const> rules, Finding const& finding) {
  return std::find(rules.begin(), rules.end(), finding.rule) != rules.end();
}

/// Time in which the device does something that the finding's communication or copies could run
/// beside, and none of them does yet.
std::optional<int64_t> room_to_hide(Finding const& finding, MeasuredDevice const& device) {
  if (finding.rule == "exposed-communication")
    return device.compute_ns - (device.comm_ns - device.exposed_comm_ns);
  if (finding.rule == "serialized-copies" || finding.rule == "pageable-copies")
    return device.compute_ns + device.exposed_comm_ns - (device.copy_ns - device.exposed_copy_ns);
  return std::nullopt;
}

std::optional<double> known_metric(Finding const& finding, std::string_view key) {
  for (auto const& [name, value] : finding.metrics)
    if (name == key) return value;
  return std::nullopt;
}

void add_gain_if_hidden(Finding& finding, MeasuredDevice const& device) {
  auto const room = room_to_hide(finding, device);
  auto const share = known_metric(finding, "share");
  if (!room || !share || device.total_ns <= 0) return;
  double const hidden = std::min(
      *share, std::max(0.0, static_cast<double>(*room) / static_cast<double>(device.total_ns)));
  if (hidden < 1) finding.gain_if_hidden = 1 / (1 - hidden) - 1;
}

/// Share of the measured time in which the device is busy.
double busy_share(MeasuredDevice const& device) {
  int64_t idle = 0;
  for (int64_t const ns : device.idle) idle += ns;
  return device.total_ns > 0 ? 1 - static_cast<double>(idle) / static_cast<double>(device.total_ns)
                             : 1;
}

/// Time without host events counts as the host's, as far as a device was idle for want of a launch.
/// The step's own range is no work.
int64_t silent_host_ns(Analysis const& analysis) {
  int64_t late = 0;
  for (DeviceStats const& device : analysis.devices)
    late = std::max(late, device.time.idle_by_cause[static_cast<size_t>(IdleCause::kLaunchBound)]);
  return std::min(analysis.critical_path->bare_host_ns, late);
}

bool is_host_bottleneck(Analysis const& analysis) {
  CriticalPathStats const& path = *analysis.critical_path;
  auto const sum = [&](std::initializer_list<PathClass> classes) {
    int64_t ns = 0;
    for (PathClass const path_class : classes) ns += path.by_class[static_cast<size_t>(path_class)];
    return ns;
  };

  int64_t const host = sum({PathClass::kHost, PathClass::kLaunch, PathClass::kSync,
                            PathClass::kInput, PathClass::kAllocation, PathClass::kProfiler});
  return host - path.bare_host_ns + silent_host_ns(analysis) >
         sum({PathClass::kCompute, PathClass::kCommunication, PathClass::kCopy});
}

}  // namespace

void limit_gains(RuleInput const& input, std::vector<Finding>& findings) {
  for (Finding& finding : findings) {
    if (!finding.where || !finding.gain_ceiling) continue;

    auto const device =
        std::lower_bound(input.measured.begin(), input.measured.end(), *finding.where,
                         [](MeasuredDevice const& d, DeviceRef ref) { return d.ref < ref; });
    if (device == input.measured.end() || device->ref != *finding.where) continue;

    add_gain_if_hidden(finding, *device);
    double const busy = busy_share(*device);
    if (busy >= kLeastUsed) continue;
    finding.gain_ceiling.reset();
    finding.gain_if_hidden.reset();
    finding.metrics.emplace_back("busy_share", busy);
  }
}

void put_bottleneck_first(Analysis& analysis) {
  if (!analysis.critical_path || !is_host_bottleneck(analysis)) return;
  std::vector<Finding>& findings = analysis.findings;
  for (Finding& finding : findings) {
    if (!is_one_of(kAboutDevices, finding)) continue;
    finding.subjects.emplace_back("bottleneck", "host");
    finding.gain_ceiling.reset();
    finding.gain_if_hidden.reset();
  }

  auto const last_of_host =
      std::find_if(findings.rbegin(), findings.rend(), [](Finding const& finding) {
        return finding.severity > Severity::kInfo && is_one_of(kAboutHost, finding);
      });
  if (last_of_host == findings.rend()) return;
  Severity const gravest = last_of_host->severity;
  for (auto finding = findings.begin(); finding != last_of_host.base(); ++finding)
    if (is_one_of(kAboutDevices, *finding))
      finding->severity = std::min(finding->severity, gravest);
  std::stable_partition(findings.begin(), last_of_host.base(),
                        [](Finding const& finding) { return !is_one_of(kAboutDevices, finding); });
}

}  // namespace stepscope::analyzer
