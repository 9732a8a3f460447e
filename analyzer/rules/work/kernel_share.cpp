#include "analyzer/rules/work/kernel_share.h"

#include <algorithm>

#include "analyzer/rules/work/slow_cost.h"

namespace stepscope::analyzer {
namespace {

struct StepTime {
  int64_t ns = 0;
  Interval window;
};

/// Keeps the steps in which the kernels take longest.
void keep_steps(DeviceRef ref, std::vector<StepTime>& steps,
                std::vector<Finding::Evidence>& evidence) {
  std::stable_sort(steps.begin(), steps.end(),
                   [](StepTime const& a, StepTime const& b) { return a.ns > b.ns; });
  if (steps.size() > kMaxEvidence) steps.resize(kMaxEvidence);
  for (StepTime const& step : steps) evidence.push_back({ref, step.window, std::nullopt});
}

void add_measured_steps(RuleInput const& input, std::vector<bool> const& has_role,
                        KernelShare& share) {
  MeasuredDevice const& device = *share.device;
  std::vector<StepTime> steps;
  int64_t total = 0, count = 0;
  for (StepStats const& step : rows_of_device(input.facts.steps, device.ref)) {
    if (!device.is_measured(step.window.begin)) continue;
    StepTime time{0, step.window};
    for (StepKernel const& kernel : step.kernels) {
      if (kernel.kernel >= has_role.size() || !has_role[kernel.kernel]) continue;
      time.ns += kernel.total_ns;
      count += kernel.count;
    }
    total += time.ns;
    if (time.ns > 0) steps.push_back(time);
  }

  share.ns_per_step = device.per_step(total);
  share.count_per_step = device.per_step(count);
  share.time_share =
      device.total_ns > 0 ? static_cast<double>(total) / static_cast<double>(device.total_ns) : 0;
  keep_steps(device.ref, steps, share.evidence);
}

KernelShare share_of(RuleInput const& input, MeasuredDevice const& device, KernelRole role) {
  KernelShare share;
  share.device = &device;
  std::span<KernelStats const> const kernels = kernels_of(input, device.ref);
  std::vector<bool> has_role(kernels.size());
  int64_t total = 0;
  uint64_t count = 0;
  for (size_t k = 0; k < kernels.size(); ++k) {
    if (kernels[k].kind != model::EventKind::kKernel || !role(kernels[k].name)) continue;
    has_role[k] = true;
    share.op_share += kernels[k].share;
    total += kernels[k].total_ns;
    count += kernels[k].count;
    if (share.heaviest == nullptr || kernels[k].total_ns > share.heaviest->total_ns)
      share.heaviest = &kernels[k];
  }
  if (share.heaviest == nullptr || device.periods.empty()) return share;

  if (device.has_steps) {
    add_measured_steps(input, has_role, share);
  } else {
    share.ns_per_step = static_cast<double>(total);
    share.count_per_step = static_cast<double>(count);
    share.time_share =
        device.total_ns > 0 ? share.ns_per_step / static_cast<double>(device.total_ns) : 0;
    for (Interval const& period : device.periods)
      share.evidence.push_back({device.ref, period, std::nullopt});
  }
  return share;
}

}  // namespace

KernelShare find_kernel_share(RuleInput const& input, KernelRole role, LeastShares least,
                              std::function<bool(KernelShare const&)> const& holds) {
  KernelShare worst;

  for (MeasuredDevice const& device : input.measured) {
    KernelShare share = share_of(input, device, role);
    if (share.op_share < least.of_ops || share.time_share < least.of_time ||
        share.time_share <= worst.time_share)
      continue;
    if (holds(share)) worst = std::move(share);
  }

  return worst;
}

Finding make_share_finding(char const* rule, KernelShare const& share) {
  Finding finding;
  finding.rule = rule;
  finding.where = share.device->ref;
  finding.severity = Severity::kWarning;

  finding.metrics = {{"op_share", share.op_share}, {"time_share", std::min(share.time_share, 1.0)}};
  if (share.device->has_steps) {
    finding.metrics.emplace_back("at_most_ns_per_step", share.ns_per_step);
    finding.metrics.emplace_back("calls_per_step", share.count_per_step);
  }

  finding.subjects.emplace_back("kernel", share.heaviest->name);
  finding.evidence = share.evidence;
  return finding;
}

}  // namespace stepscope::analyzer
