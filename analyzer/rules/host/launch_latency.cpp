// launch-latency: the kernels are shorter than it takes to launch them, so the device waits for a
// launch after every one. Cost: idle time between ops that is nothing but launching
// (launch_cost.h), per step. Where the host does more between two launches than to launch,
// host-bound-launches speaks.
#include "analyzer/rules/host/launch_cost.h"

#include "analyzer/rules/host/idle_cost.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

DeviceStats const& device_facts(RuleInput const& input, MeasuredDevice const& device) {
  return input.facts.devices[static_cast<size_t>(&device - input.measured.data())];
}

bool is_launching(IdleCause cause) {
  return cause == IdleCause::kLaunchBound || cause == IdleCause::kLaunchLatency;
}

}  // namespace

std::vector<bool> launch_cost_gaps(RuleInput const& input, MeasuredDevice const& device) {
  std::optional<int64_t> const kernel = device_facts(input, device).launch.kernel_median_ns;
  if (!kernel || *kernel >= kShortKernelNs) return {};

  std::vector<bool> marks(device.gaps.size());
  int64_t lost = 0;
  for (size_t first = 0, last = 0; first < device.gaps.size();
       first = last) {  // pieces that touch are one idle time

    Interval idle = device.gaps[first].when;
    bool only_launching = true;
    for (; last < device.gaps.size(); ++last) {
      IdleGap const gap = device.gaps[last];
      if (last > first && gap.when.begin != idle.end) break;
      idle.end = gap.when.end;
      only_launching = only_launching && is_launching(gap.cause);
    }

    if (!only_launching || idle.length() > kLongestLaunchNs) continue;
    std::fill(marks.begin() + static_cast<ptrdiff_t>(first),
              marks.begin() + static_cast<ptrdiff_t>(last), true);
    lost += idle.length();
  }

  bool const speaks =
      static_cast<double>(lost) >= kWarningShare * static_cast<double>(device.total_ns) && lost > 0;
  return speaks ? marks : std::vector<bool>();
}

void find_launch_latency(RuleInput const& input, std::vector<Finding>& findings) {
  std::vector<std::vector<bool>> marks;
  for (MeasuredDevice const& device : input.measured)
    marks.push_back(launch_cost_gaps(input, device));

  auto const counts = [&](MeasuredDevice const& device, size_t place) {
    std::vector<bool> const& of_device =
        marks[static_cast<size_t>(&device - input.measured.data())];
    return !of_device.empty() && of_device[place];
  };

  auto finding = find_idle_cost("launch-latency", input, kWarningShare,
                                {IdleCause::kLaunchBound, IdleCause::kLaunchLatency}, counts);
  if (!finding) return;

  for (DeviceStats const& device : input.facts.devices) {
    if (device.ref != finding->where) continue;
    if (device.launch.kernel_median_ns)
      finding->metrics.emplace_back("kernel_median_ns",
                                    static_cast<double>(*device.launch.kernel_median_ns));
    if (device.launch.call_median_ns)
      finding->metrics.emplace_back("call_median_ns",
                                    static_cast<double>(*device.launch.call_median_ns));
    if (device.launch.calls_per_step)
      finding->metrics.emplace_back("launches_per_step", *device.launch.calls_per_step);
  }

  findings.push_back(std::move(*finding));
}

}  // namespace stepscope::analyzer
