#include "analyzer/rules/work/slow_cost.h"

#include <algorithm>

namespace stepscope::analyzer {
namespace {

bool is_measured_step(MeasuredDevice const& device, StepStats const& step) {
  return device.is_measured(step.window.begin);
}

void add_slow_time(SlowTime& sum, SlowTime const& slow) {
  sum.simt_matrix_ns += slow.simt_matrix_ns;
  sum.small_grid_ns += slow.small_grid_ns;
  sum.small_grid_lost_ns += slow.small_grid_lost_ns;
  sum.serialized_ns += slow.serialized_ns;
  sum.slow_copy_ns += slow.slow_copy_ns;
  sum.device_copy_ns += slow.device_copy_ns;
}

double share_of_time(MeasuredDevice const& device, int64_t lost) {
  return device.total_ns > 0 ? static_cast<double>(lost) / static_cast<double>(device.total_ns) : 0;
}

/// Waiting for late peers, hidden by no compute (DEFINITIONS, "Waiting for peers"), that would end
/// without the peers' loss: their compute would take less by it. ns per step.
double waiting_for_loss(RuleInput const& input, MeasuredDevice const& device,
                        SlowLoss const& loss) {
  double all = 0, lost = 0;
  for (WaitStats const& row : input.facts.waits) {
    auto const exposed = static_cast<double>(row.exposed_ns);
    all += exposed;

    if (row.cause != WaitCause::kCompute) continue;
    for (MeasuredDevice const& late : rows_of_device(input.measured, row.ref))
      if (late.compute_ns > 0)
        lost +=
            exposed * std::clamp(static_cast<double>(loss(late, measured_slow_time(input, late))) /
                                     static_cast<double>(late.compute_ns),
                                 0.0, 1.0);
  }

  return all > 0 ? device.per_step(device.exposed_late_ns) * lost / all : 0;
}

/// The steps that lose most; the whole window of a device without steps.
std::vector<Finding::Evidence> steps_that_lose(RuleInput const& input, MeasuredDevice const& device,
                                               SlowLoss const& loss) {
  std::vector<std::pair<int64_t, Interval>> losses;
  for (StepStats const& step : rows_of_device(input.facts.steps, device.ref)) {
    if (!is_measured_step(device, step)) continue;
    if (int64_t const lost = loss(device, step.slow); lost > 0)
      losses.emplace_back(lost, step.window);
  }

  std::stable_sort(losses.begin(), losses.end(),
                   [](auto const& a, auto const& b) { return a.first > b.first; });
  if (losses.size() > kMaxEvidence) losses.resize(kMaxEvidence);

  std::vector<Finding::Evidence> evidence;
  for (auto const& [lost, when] : losses) evidence.push_back({device.ref, when, std::nullopt});
  if (!device.has_steps)
    for (Interval const& period : device.periods)
      evidence.push_back({device.ref, period, std::nullopt});
  return evidence;
}

}  // namespace

SlowTime measured_slow_time(RuleInput const& input, MeasuredDevice const& device) {
  SlowTime sum;
  if (device.has_steps) {
    for (StepStats const& step : rows_of_device(input.facts.steps, device.ref))
      if (is_measured_step(device, step)) add_slow_time(sum, step.slow);
  } else if (!device.periods.empty()) {
    for (DeviceStats const& facts : rows_of_device(input.facts.devices, device.ref))
      sum = facts.slow;
  }
  return sum;
}

std::optional<Finding> find_slow_cost(char const* rule, RuleInput const& input, double least_share,
                                      SlowLoss const& loss, SlowCondition const& applies,
                                      SlowWork work) {
  MeasuredDevice const* worst = nullptr;
  int64_t most = 0;
  int devices = 0;

  for (MeasuredDevice const& device : input.measured) {
    SlowTime const slow = measured_slow_time(input, device);
    int64_t const lost = loss(device, slow);
    if (lost <= 0 || share_of_time(device, lost) < least_share || !applies(device, slow)) continue;

    ++devices;
    if (worst != nullptr && share_of_time(device, lost) <= share_of_time(*worst, most)) continue;
    worst = &device;
    most = lost;
  }

  if (worst == nullptr) return std::nullopt;
  double const waiting = work == SlowWork::kCompute ? waiting_for_loss(input, *worst, loss) : 0;

  Finding finding = make_cost_finding(rule, *worst, worst->per_step(most) + waiting);
  finding.severity = std::min(finding.severity, Severity::kWarning);
  finding.metrics.emplace_back("devices", devices);
  finding.evidence = steps_that_lose(input, *worst, loss);
  return finding;
}

std::span<KernelStats const> kernels_of(RuleInput const& input, DeviceRef ref) {
  return rows_of_device(input.facts.kernels, ref);
}

std::string heaviest_kernel(RuleInput const& input, DeviceRef ref,
                            std::function<double(KernelStats const&)> const& weight) {
  KernelStats const* heaviest = nullptr;
  double most = 0;
  for (KernelStats const& kernel : kernels_of(input, ref)) {
    if (weight(kernel) <= most) continue;
    heaviest = &kernel;
    most = weight(kernel);
  }
  return heaviest == nullptr ? std::string() : heaviest->name;
}

}  // namespace stepscope::analyzer
