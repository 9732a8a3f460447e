#include "analyzer/metrics/steps/run_summary.h"

#include <algorithm>
#include <set>

#include "analyzer/metrics/core/quantile.h"
#include "analyzer/metrics/steps/measured_steps.h"

namespace stepscope::analyzer {
namespace {

void summarize_steps(Analysis const& analysis, RunSummary& summary) {
  std::vector<int64_t> lengths;
  std::set<int64_t> counted, warmup, unusual;
  size_t steady = 0;

  for (StepPeriod const& period : step_periods(analysis)) {
    (period.step->warmup ? warmup : counted).insert(period.step->step);
    if (!period.is_measured) continue;
    summary.mean_of_all_ns += static_cast<double>(period.when.length());
    lengths.push_back(period.when.length());
    if (!period.is_steady) {
      unusual.insert(period.step->step);
      continue;
    }
    for (size_t i = 0; i < period.parts_ns.size(); ++i)
      summary.parts_ns[i] += static_cast<double>(period.parts_ns[i]);
    summary.exposed_late_ns += static_cast<double>(period.step->time.exposed_late_ns);
    ++steady;
  }

  summary.steps = counted.size();
  summary.warmup_steps = warmup.size();
  summary.unusual_steps = unusual.size();
  if (steady == 0) return;

  summary.has_steps = true;
  for (double& ns : summary.parts_ns) ns /= static_cast<double>(steady);
  summary.exposed_late_ns /= static_cast<double>(steady);
  summary.mean_of_all_ns /= static_cast<double>(lengths.size());
  Distribution const periods = distribution(lengths);
  summary.median_ns = periods.median;
  summary.p95_ns = periods.p95;
}

void summarize_devices(Analysis const& analysis, RunSummary& summary) {
  int64_t window = 0, busy = 0, comm = 0, exposed = 0;
  for (DeviceStats const& device : analysis.devices) {
    window += device.time.window_ns;
    busy += device.time.busy_ns;
    comm += device.time.comm_ns;
    exposed += device.time.exposed_comm_ns;
    if (device.memory.peak_reserved_bytes)
      summary.peak_reserved_bytes =
          std::max(summary.peak_reserved_bytes.value_or(0), *device.memory.peak_reserved_bytes);
    if (summary.has_steps) continue;
    for (int i = 0; i < kPartCount; ++i)
      summary.parts_ns[static_cast<size_t>(i)] += static_cast<double>(part_ns(device.time, i));
    summary.exposed_late_ns += static_cast<double>(device.time.exposed_late_ns);
  }

  if (!summary.has_steps && !analysis.devices.empty()) {
    auto const devices = static_cast<double>(analysis.devices.size());
    for (double& ns : summary.parts_ns) ns /= devices;
    summary.exposed_late_ns /= devices;
  }
  if (window > 0) summary.utilization = static_cast<double>(busy) / static_cast<double>(window);
  if (comm > 0) summary.overlap = static_cast<double>(comm - exposed) / static_cast<double>(comm);
}

}  // namespace

double RunSummary::share(int part_index) const {
  return mean_ns > 0 ? parts_ns[static_cast<size_t>(part_index)] / mean_ns : 0;
}

double DeviceMean::idle_ns() const {
  double ns = 0;
  for (size_t i = kFirstIdlePart; i < kPartCount; ++i) ns += parts_ns[i];
  return ns;
}

std::vector<StepPeriod> step_periods(Analysis const& analysis) {
  std::vector<std::vector<MeasuredPeriod>> const measured = measured_periods(analysis);
  std::vector<StepPeriod> periods;
  periods.reserve(analysis.steps.size());

  size_t device = 0, next = 0;  // the next measured period of the device
  for (StepStats const& step : analysis.steps) {
    StepPeriod& period = periods.emplace_back(StepPeriod{&step, step.window, {}});
    for (int i = 0; i < kPartCount; ++i)
      period.parts_ns[static_cast<size_t>(i)] = part_ns(step.time, i);
    for (; device < measured.size() && analysis.devices[device].ref < step.ref; ++device) next = 0;
    if (step.warmup || device == measured.size() || analysis.devices[device].ref != step.ref)
      continue;

    // A period ends where its step's window does; steps that go back in time have none.
    if (next >= measured[device].size() || measured[device][next].when.end != step.window.end)
      continue;
    MeasuredPeriod const& own = measured[device][next++];
    period.when = own.when;
    period.is_measured = true;
    period.is_steady = own.is_steady;
    for (size_t cause = 0; cause < own.lead.size(); ++cause)
      period.parts_ns[kFirstIdlePart + cause] += own.lead[cause];
  }
  return periods;
}

RunSummary summarize(Analysis const& analysis) {
  RunSummary summary;
  summarize_steps(analysis, summary);
  summarize_devices(analysis, summary);

  for (int i = 0; i < kPartCount; ++i) {
    double const ns = summary.parts_ns[static_cast<size_t>(i)];
    summary.mean_ns += ns;
    if (i > 0 && ns > 0 &&
        (summary.largest_loss < 0 ||
         ns > summary.parts_ns[static_cast<size_t>(summary.largest_loss)]))
      summary.largest_loss = i;
  }
  return summary;
}

std::vector<DeviceMean> device_means(Analysis const& analysis) {
  std::vector<DeviceMean> means(analysis.devices.size());
  for (size_t d = 0; d < means.size(); ++d) means[d].ref = analysis.devices[d].ref;
  std::vector<double> comm(means.size()), exposed(means.size());

  // Sums: steps and devices are both sorted by ref.
  size_t d = 0;
  for (StepPeriod const& period : step_periods(analysis)) {
    while (d < means.size() && means[d].ref < period.step->ref) ++d;
    if (d == means.size()) break;
    if (!period.is_steady || means[d].ref != period.step->ref) continue;
    DeviceMean& mean = means[d];
    ++mean.steps;
    mean.step_ns += static_cast<double>(period.when.length());
    for (size_t i = 0; i < mean.parts_ns.size(); ++i)
      mean.parts_ns[i] += static_cast<double>(period.parts_ns[i]);
    mean.exposed_late_ns += static_cast<double>(period.step->time.exposed_late_ns);
    comm[d] += static_cast<double>(period.step->time.comm_ns);
    exposed[d] += static_cast<double>(period.step->time.exposed_comm_ns);
  }

  for (d = 0; d < means.size(); ++d) {
    if (means[d].steps == 0) continue;
    auto const steps = static_cast<double>(means[d].steps);
    means[d].step_ns /= steps;
    for (double& ns : means[d].parts_ns) ns /= steps;
    means[d].exposed_late_ns /= steps;
    if (comm[d] > 0) means[d].overlap = 1 - exposed[d] / comm[d];
  }
  return means;
}

HostSummary summarize_hosts(Analysis const& analysis) {
  HostSummary summary;
  std::vector<int64_t> lengths;
  double total = 0, input = 0;
  for (HostStats const& host : analysis.hosts) {
    for (HostStepStats const& step : host.steps) {
      ++(step.warmup ? summary.warmup_steps : summary.steps);
      if (step.warmup) continue;
      lengths.push_back(step.period.length());
      total += static_cast<double>(step.period.length());
      input += static_cast<double>(step.input_ns);
    }
    bool const is_slower =
        host.slow && (summary.slowest == nullptr ||
                      host.slow->when.length() > summary.slowest->slow->when.length());
    if (is_slower) summary.slowest = &host;
  }
  if (lengths.empty()) return summary;

  auto const count = static_cast<double>(lengths.size());
  summary.mean_ns = static_cast<int64_t>(total / count);
  summary.input_ns = static_cast<int64_t>(input / count);
  Distribution const periods = distribution(lengths);
  summary.median_ns = periods.median;
  summary.p95_ns = periods.p95;
  return summary;
}

}  // namespace stepscope::analyzer
