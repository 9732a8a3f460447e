#include "analyzer/facts/device_time.h"

#include <algorithm>

namespace stepscope::analyzer {
namespace {

/// Adds what of the gaps (by time, disjoint) lies in the window.
void add_causes(IdleSplit& split, Interval window, std::vector<IdleGap> const& gaps) {
  auto gap = std::partition_point(gaps.begin(), gaps.end(), [&](IdleGap const& g) { return g.when.end <= window.begin; });
  for (; gap != gaps.end() && gap->when.begin < window.end; ++gap)
    split[static_cast<size_t>(gap->cause)] += std::min(gap->when.end, window.end) - std::max(gap->when.begin, window.begin);
}

/// A union of intervals that come by begin.
void extend(model::IntervalSet& set, Interval next) {
  if (!set.empty() && next.begin <= set.back().end)
    set.back().end = std::max(set.back().end, next.end);
  else
    set.push_back(next);
}

}  // namespace

std::optional<double> TimeSplit::overlap() const {
  if (comm_ns == 0) return std::nullopt;
  return static_cast<double>(comm_ns - exposed_comm_ns) / static_cast<double>(comm_ns);
}

std::optional<double> TimeSplit::utilization() const {
  if (window_ns == 0) return std::nullopt;
  return static_cast<double>(busy_ns) / static_cast<double>(window_ns);
}

DeviceSets unite_ops(DeviceIndex const& device) {
  DeviceSets sets;
  sets.busy.reserve(device.ops.size());
  sets.compute.reserve(device.ops.size());  // most are
  RowView const rows = device.rows();
  // Ops come by start, and so do those of each class.
  for (uint32_t const row : device.ops) {
    Interval const when = rows.when(row);
    if (when.begin >= when.end) continue;
    extend(sets.busy, when);
    switch (rows.op_class(row)) {
      case model::OpClass::kCompute:
        extend(sets.compute, when);
        break;
      case model::OpClass::kComm:
        extend(sets.comm, when);
        break;
      case model::OpClass::kCopy:
        extend(sets.copy, when);
        break;
      case model::OpClass::kNone:
        break;
    }
  }
  sets.exposed_comm = model::subtract(sets.comm, sets.compute);
  sets.exposed_copy = model::subtract(model::subtract(sets.copy, sets.compute), sets.comm);
  return sets;
}

void add_unhidden(DeviceSets& sets, std::vector<IdleGap> unhidden) {
  std::vector<Interval> times;
  for (IdleGap const& part : unhidden) times.push_back(part.when);
  sets.unhidden_comm = model::intersect(model::unite(std::move(times)), sets.exposed_comm);
  sets.unhidden = std::move(unhidden);
}

int64_t measure_in(model::IntervalSet const& set, Interval window) {
  auto at = std::partition_point(set.begin(), set.end(), [&](Interval const& i) { return i.end <= window.begin; });
  int64_t total = 0;
  for (; at != set.end() && at->begin < window.end; ++at)
    total += std::min(at->end, window.end) - std::max(at->begin, window.begin);
  return total;
}

TimeSplit split_window(DeviceSets const& sets, Interval window) {
  TimeSplit split;
  split.window_ns = window.length();
  split.busy_ns = measure_in(sets.busy, window);
  split.idle_ns = split.window_ns - split.busy_ns;
  split.compute_ns = measure_in(sets.compute, window);
  split.comm_ns = measure_in(sets.comm, window);
  split.copy_ns = measure_in(sets.copy, window);
  split.exposed_comm_ns = measure_in(sets.exposed_comm, window);
  split.exposed_copy_ns = measure_in(sets.exposed_copy, window);
  split.exposed_wait_ns = measure_in(sets.exposed_wait, window);
  split.exposed_late_ns = measure_in(sets.exposed_late, window);
  if (sets.blocking_comm) split.blocking_comm_ns = measure_in(*sets.blocking_comm, window);
  split.unhidden_comm_ns = measure_in(sets.unhidden_comm, window);
  add_causes(split.unhidden_by_cause, window, sets.unhidden);
  return split;
}

void add_idle_causes(TimeSplit& split, Interval window, std::vector<IdleGap> const& gaps) {
  add_causes(split.idle_by_cause, window, gaps);
}

}  // namespace stepscope::analyzer
