#include "reports/html/wait_map.h"

#include <algorithm>
#include <map>

namespace stepscope::reports {
namespace {

struct Sum {
  int64_t ns = 0, steps = 0;
};

/// Exposed waits of the steps of each device.
using Waits = std::map<analyzer::DeviceRef, std::vector<std::pair<int64_t, int64_t>>>;

/// The numbers of all steps in groups of neighbours.
std::vector<WaitMap::Column> columns_of(Waits const& waits) {
  std::vector<int64_t> numbers;
  for (auto const& [ref, steps] : waits)
    for (auto const& [number, ns] : steps) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  size_t const group = std::max<size_t>((numbers.size() + kMapSteps - 1) / kMapSteps, 1);
  std::vector<WaitMap::Column> columns;
  for (size_t i = 0; i < numbers.size(); i += group)
    columns.push_back({numbers[i], numbers[std::min(i + group, numbers.size()) - 1]});
  return columns;
}

int64_t total(std::vector<std::pair<int64_t, int64_t>> const& steps) {
  double sum = 0;
  for (auto const& [number, ns] : steps) sum += static_cast<double>(ns);
  return static_cast<int64_t>(std::min(sum, 9e18));
}

/// If there are too many devices, half of the rows are those that wait least: the ones that others
/// wait for.
std::vector<analyzer::DeviceRef> chosen_devices(Waits const& waits) {
  std::vector<std::pair<int64_t, analyzer::DeviceRef>> by_wait;
  for (auto const& [ref, steps] : waits) by_wait.emplace_back(total(steps), ref);
  std::sort(by_wait.begin(), by_wait.end());
  if (by_wait.size() > kMapDevices)
    by_wait.erase(by_wait.begin() + kMapDevices / 2, by_wait.end() - static_cast<ptrdiff_t>(kMapDevices - kMapDevices / 2));
  std::vector<analyzer::DeviceRef> chosen;
  for (auto const& [ns, ref] : by_wait) chosen.push_back(ref);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace

WaitMap wait_map(analyzer::Analysis const& analysis) {
  Waits waits;
  bool does_any_wait = false;
  for (analyzer::StepStats const& step : analysis.steps) {
    if (step.warmup) continue;
    waits[step.ref].emplace_back(step.step, step.time.exposed_wait_ns);
    does_any_wait = does_any_wait || step.time.exposed_wait_ns > 0;
  }
  WaitMap map;
  if (!does_any_wait || waits.size() < 2) return map;
  std::vector<WaitMap::Column> const columns = columns_of(waits);
  if (columns.size() < 2) return map;
  map.columns = columns;
  for (analyzer::DeviceRef const ref : chosen_devices(waits)) {
    std::vector<Sum> sums(columns.size());
    for (auto const& step : waits.at(ref)) {
      auto const column =
          std::partition_point(columns.begin(), columns.end(), [&](auto const& c) { return c.last < step.first; });
      Sum& sum = sums[static_cast<size_t>(column - columns.begin())];
      sum.ns += step.second;
      ++sum.steps;
    }
    WaitMap::Row& row = map.rows.emplace_back(WaitMap::Row{ref, {}});
    for (Sum const& sum : sums) row.ns.push_back(sum.steps == 0 ? -1 : sum.ns / sum.steps);
  }
  map.devices_left_out = waits.size() - map.rows.size();
  return map;
}

}  // namespace stepscope::reports
