#include "analyzer/metrics/communication/wait_matrix.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "analyzer/metrics/core/quantile.h"
#include "analyzer/metrics/steps/measured_steps.h"
#include "analyzer/metrics/steps/run_summary.h"

namespace stepscope::analyzer {
namespace {

/// Exposed waits of the steps of each device: (step number, ns).
using WaitsByStep = std::map<DeviceRef, std::vector<std::pair<int64_t, int64_t>>>;

/// The numbers of all steps, in groups of neighbours.
std::vector<StepWaitMatrix::Column> matrix_columns(WaitsByStep const& waits) {
  std::vector<int64_t> numbers;
  for (auto const& [ref, steps] : waits)
    for (auto const& [number, ns] : steps) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());

  size_t const group = std::max<size_t>((numbers.size() + kMatrixSteps - 1) / kMatrixSteps, 1);
  std::vector<StepWaitMatrix::Column> columns;
  for (size_t i = 0; i < numbers.size(); i += group)
    columns.push_back({numbers[i], numbers[std::min(i + group, numbers.size()) - 1]});
  return columns;
}

int64_t total_wait(std::vector<std::pair<int64_t, int64_t>> const& steps) {
  constexpr double kMost = 9e18;  // below 2^63: damaged traces claim any duration
  double sum = 0;
  for (auto const& [number, ns] : steps) sum += static_cast<double>(ns);
  return static_cast<int64_t>(std::min(sum, kMost));
}

/// Where there are too many devices, half of the chosen ones wait least: the others wait for them.
std::vector<DeviceRef> matrix_devices(WaitsByStep const& waits) {
  std::vector<std::pair<int64_t, DeviceRef>> by_wait;
  for (auto const& [ref, steps] : waits) by_wait.emplace_back(total_wait(steps), ref);
  std::sort(by_wait.begin(), by_wait.end());
  if (by_wait.size() > kMatrixDevices)
    by_wait.erase(by_wait.begin() + kMatrixDevices / 2,
                  by_wait.end() - static_cast<ptrdiff_t>(kMatrixDevices - kMatrixDevices / 2));

  std::vector<DeviceRef> chosen;
  for (auto const& [ns, ref] : by_wait) chosen.push_back(ref);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

/// Means by column; −1 where the device has none of the column's steps.
std::vector<int64_t> mean_waits(std::vector<std::pair<int64_t, int64_t>> const& steps,
                                std::vector<StepWaitMatrix::Column> const& columns) {
  struct Sum {
    int64_t ns = 0, steps = 0;
  };
  std::vector<Sum> sums(columns.size());
  for (auto const& [number, ns] : steps) {
    auto const column = std::partition_point(columns.begin(), columns.end(),
                                             [&, n = number](auto const& c) { return c.last < n; });
    Sum& sum = sums[static_cast<size_t>(column - columns.begin())];
    sum.ns += ns;
    ++sum.steps;
  }

  std::vector<int64_t> means;
  for (Sum const& sum : sums) means.push_back(sum.steps == 0 ? -1 : sum.ns / sum.steps);
  return means;
}

}  // namespace

StepWaitMatrix step_wait_matrix(Analysis const& analysis) {
  WaitsByStep waits;
  bool does_any_wait = false;
  for (StepStats const& step : analysis.steps) {
    if (step.warmup) continue;
    waits[step.ref].emplace_back(step.step, step.time.exposed_late_ns);
    does_any_wait = does_any_wait || step.time.exposed_late_ns > 0;
  }
  if (!does_any_wait || waits.size() < 2) return {};

  StepWaitMatrix matrix;
  matrix.columns = matrix_columns(waits);
  if (matrix.columns.size() < 2) return {};
  for (DeviceRef const ref : matrix_devices(waits))
    matrix.rows.push_back({ref, mean_waits(waits.at(ref), matrix.columns)});
  matrix.devices_left_out = waits.size() - matrix.rows.size();
  return matrix;
}

std::optional<StepWaits> step_waits(StepWaitMatrix const& matrix, StepWaitMatrix::Row const& row) {
  std::vector<int64_t> known;
  std::copy_if(row.ns.begin(), row.ns.end(), std::back_inserter(known),
               [](int64_t ns) { return ns >= 0; });
  if (known.empty()) return std::nullopt;

  StepWaits waits;
  auto const longest = std::max_element(row.ns.begin(), row.ns.end());
  waits.longest_step = matrix.columns[static_cast<size_t>(longest - row.ns.begin())].first;
  auto const waiting = std::count_if(known.begin(), known.end(), [](int64_t ns) { return ns > 0; });
  waits.waiting_share = static_cast<double>(waiting) / static_cast<double>(known.size());

  Distribution const lengths = distribution(known);
  waits.median_ns = lengths.median;
  waits.p95_ns = lengths.p95;
  waits.longest_ns = lengths.most;
  return waits;
}

std::vector<DeviceWait> waits_by_device(Analysis const& analysis) {
  std::map<DeviceRef, DeviceWait> waits;
  for (CollectiveStats const& collective : analysis.collectives)
    for (size_t i = 0; i < collective.participants.size(); ++i) {
      auto const& participant = collective.participants[i];
      DeviceWait& wait = waits[participant.ref];
      wait.ref = participant.ref;
      wait.wait_ns += participant.wait_ns;
      ++wait.collectives;
      if (collective.last_participant >= 0 && static_cast<size_t>(collective.last_participant) == i)
        ++wait.last;
    }

  for (StepStats const& step : analysis.steps) {
    auto const found = waits.find(step.ref);
    if (found != waits.end()) ++found->second.steps;
  }

  std::vector<DeviceMean> const means = device_means(analysis);
  for (size_t d = 0; d < means.size(); ++d) {
    auto const found = waits.find(means[d].ref);
    if (found == waits.end()) continue;
    if (means[d].steps > 0)
      found->second.lost_ns = std::llround(means[d].exposed_late_ns);
    else if (analysis.steps.empty())
      found->second.lost_ns = analysis.devices[d].time.exposed_late_ns;
  }

  std::vector<DeviceWait> result;
  for (auto const& [ref, wait] : waits) result.push_back(wait);
  return result;
}

std::vector<DeviceWait> longest_waits(Analysis const& analysis, size_t most) {
  std::vector<DeviceWait> devices = waits_by_device(analysis);
  if (devices.size() <= most) return devices;

  std::nth_element(devices.begin(), devices.begin() + static_cast<ptrdiff_t>(most), devices.end(),
                   [](DeviceWait const& a, DeviceWait const& b) {
                     return std::pair(a.lost_ns, a.wait_ns) > std::pair(b.lost_ns, b.wait_ns);
                   });
  devices.resize(most);
  std::sort(devices.begin(), devices.end(),
            [](DeviceWait const& a, DeviceWait const& b) { return a.ref < b.ref; });
  return devices;
}

std::optional<WaitSummary> summarize_waits(Analysis const& analysis) {
  WaitSummary summary;
  for (WaitStats const& row : analysis.waits)
    summary.exposed_ns += static_cast<double>(row.exposed_ns);
  if (summary.exposed_ns <= 0) return std::nullopt;

  double steps = 0;
  bool has_steps = true;
  for (MeasuredDevice const& device : measure_steady_times(analysis)) {
    summary.measured_ns += static_cast<double>(device.total_ns);
    summary.waiting_ns += static_cast<double>(device.exposed_late_ns);
    steps += static_cast<double>(device.periods.size());
    has_steps = has_steps && device.has_steps;
  }
  if (summary.measured_ns <= 0) return std::nullopt;

  if (has_steps) summary.step_and_device_ns = summary.waiting_ns / steps;
  return summary;
}

}  // namespace stepscope::analyzer
