// throttling: a device's clock is throttled while it works, and its kernels take longer. Cost:
// compute time × the missing share of the clock, per step. Silent unless a counter has the clock
// and the same kernels are slower.
#include <algorithm>
#include <map>

#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// Less is within what step times vary by, and within what a clock varies by in sound runs.
constexpr double kLeastClockShare = kWarningShare;
/// Devices of one kind differ by a few steps of 15 MHz in 2,000 at the same load.
constexpr double kLowOfPeers = 0.95;
/// A kernel that computes takes 1.05 × as long at 0.95 × the clock; less is noise of the means.
constexpr double kLeastSlowdown = 1.03;

struct ClockLoss {
  size_t device = 0;  ///< place in facts.devices
  double cost_ns = 0;
  double slowdown = 1;
  bool is_of_peers = false;
};

/// The clock drops now and then.
ClockLoss loss_of_drops(TelemetryStats const& telemetry, MeasuredDevice const& measured,
                        size_t place) {
  ClockLoss loss{place};
  if (!telemetry.kernel_slowdown || *telemetry.kernel_slowdown < kLeastSlowdown) return loss;
  int64_t lost = 0;
  for (TelemetryStats::SlowStep const& step : telemetry.slow_steps)
    if (measured.is_measured(step.when.begin)) lost += step.lost_ns;
  loss.cost_ns = measured.per_step(lost);
  loss.slowdown = *telemetry.kernel_slowdown;
  return loss;
}

/// Kernels of all devices of a name: what a call takes on average, by the name of the kernel.
class KernelsOfName {
 public:
  explicit KernelsOfName(Analysis const& facts) : facts_(facts) {
    for (DeviceStats const& device : facts.devices)
      for (KernelStats const* kernel = first_of(device.ref);
           kernel != end() && kernel->ref == device.ref; ++kernel)
        if (kernel->kind == model::EventKind::kKernel) {
          Calls& calls = all_[{device.name, kernel->name}];
          calls.count += kernel->count;
          calls.total_ns += static_cast<double>(kernel->total_ns);
        }
  }
  /// × what the same calls take on the others of the name; 1 where they have none of its kernels.
  [[nodiscard]] double slowdown(DeviceStats const& device) const {
    double own_ns = 0, expected_ns = 0;
    for (KernelStats const* kernel = first_of(device.ref);
         kernel != end() && kernel->ref == device.ref; ++kernel) {
      auto const all = all_.find({device.name, kernel->name});
      if (kernel->kind != model::EventKind::kKernel || all == all_.end() ||
          all->second.count <= kernel->count)
        continue;

      auto const own = static_cast<double>(kernel->total_ns);
      own_ns += own;
      expected_ns += (all->second.total_ns - own) /
                     static_cast<double>(all->second.count - kernel->count) *
                     static_cast<double>(kernel->count);
    }

    return expected_ns > 0 ? own_ns / expected_ns : 1;
  }

 private:
  struct Calls {
    uint64_t count = 0;
    double total_ns = 0;
  };
  [[nodiscard]] KernelStats const* first_of(DeviceRef ref) const {
    auto const& kernels = facts_.kernels;
    return std::partition_point(kernels.data(), end(),
                                [&](KernelStats const& kernel) { return kernel.ref < ref; });
  }
  [[nodiscard]] KernelStats const* end() const {
    return facts_.kernels.data() + facts_.kernels.size();
  }

  Analysis const& facts_;
  std::map<std::pair<std::string_view, std::string_view>, Calls> all_;
};

/// The clock is lower than that of the other devices all the time.
ClockLoss loss_to_peers(RuleInput const& input, KernelsOfName const& means, size_t place) {
  ClockLoss loss{place};
  DeviceStats const& device = input.facts.devices[place];
  MeasuredDevice const& measured = input.measured[place];
  TelemetryStats const& telemetry = *device.telemetry;

  // A device that sustains a normal clock is slow in some spans only: loss_of_drops() counts these.
  double const ratio = *telemetry.clock_to_peers;
  if (*telemetry.sustained_clock_mhz * ratio >= kLowOfPeers * *telemetry.busy_clock_mhz)
    return loss;
  loss.slowdown = means.slowdown(device);
  if (loss.slowdown < kLeastSlowdown) return loss;

  double const missing = std::min(1 - ratio, 1 - 1 / loss.slowdown);
  loss.cost_ns = measured.per_step(measured.compute_ns) * missing;
  loss.is_of_peers = true;
  return loss;
}

Finding make_clock_finding(RuleInput const& input, ClockLoss const& loss, int devices) {
  DeviceStats const& device = input.facts.devices[loss.device];
  TelemetryStats const& telemetry = *device.telemetry;
  Finding finding = make_cost_finding("throttling", input.measured[loss.device], loss.cost_ns);

  finding.metrics.emplace_back("kernel_slowdown", loss.slowdown);
  if (loss.is_of_peers) {
    finding.metrics.emplace_back("clock_to_peers", *telemetry.clock_to_peers);
    finding.metrics.emplace_back("clock_mhz", *telemetry.busy_clock_mhz);
  } else {
    finding.metrics.emplace_back("sustained_clock_mhz", *telemetry.sustained_clock_mhz);
    if (telemetry.sm_clock_mhz)
      finding.metrics.emplace_back("lowest_clock_mhz", telemetry.sm_clock_mhz->min);
    if (device.time.busy_ns > 0 && telemetry.throttled_ns)
      finding.metrics.emplace_back("throttled_share", static_cast<double>(*telemetry.throttled_ns) /
                                                          static_cast<double>(device.time.busy_ns));
  }

  if (telemetry.temperature_c)
    finding.metrics.emplace_back("highest_temperature_c", telemetry.temperature_c->max);
  if (telemetry.power_w) finding.metrics.emplace_back("highest_power_w", telemetry.power_w->max);
  finding.metrics.emplace_back("devices", devices);

  if (telemetry.limited_ns) {
    auto const most = std::max_element(telemetry.limited_ns->begin(), telemetry.limited_ns->end());
    if (*most > 0)
      finding.subjects.emplace_back(
          "limit", to_string(static_cast<ClockLimit>(most - telemetry.limited_ns->begin())));
  }
  for (Interval const& when : telemetry.throttled)
    finding.evidence.push_back({device.ref, when, std::nullopt});
  return finding;
}

}  // namespace

void find_throttling(RuleInput const& input, std::vector<Finding>& findings) {
  auto const has_clock = [](DeviceStats const& device) {
    return device.telemetry && device.telemetry->busy_clock_mhz;
  };
  auto const& devices = input.facts.devices;
  if (std::none_of(devices.begin(), devices.end(), has_clock)) return;

  std::optional<KernelsOfName> means;  // only where a clock is low: it takes a while
  auto const is_low = [](DeviceStats const& device) {
    return device.telemetry && device.telemetry->clock_to_peers.value_or(1) < kLowOfPeers;
  };
  if (std::any_of(devices.begin(), devices.end(), is_low)) means.emplace(input.facts);

  ClockLoss worst;
  int affected = 0;
  for (size_t d = 0; d < devices.size(); ++d) {
    if (!has_clock(devices[d]) || input.measured[d].total_ns == 0) continue;
    ClockLoss loss = loss_of_drops(*devices[d].telemetry, input.measured[d], d);
    ClockLoss const to_peers = is_low(devices[d]) ? loss_to_peers(input, *means, d) : ClockLoss();
    if (to_peers.cost_ns > loss.cost_ns) loss = to_peers;
    if (loss.cost_ns < kLeastClockShare * input.measured[d].step_ns()) continue;
    ++affected;
    if (loss.cost_ns > worst.cost_ns) worst = loss;
  }

  if (affected > 0) findings.push_back(make_clock_finding(input, worst, affected));
}

}  // namespace stepscope::analyzer
