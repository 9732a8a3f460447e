#include "analyzer/metrics/time/device_time.h"

#include <algorithm>

#include "analyzer/metrics/core/add_interval.h"
#include "trace/model/exponential_search.h"

namespace stepscope::analyzer {
namespace {

/// |set ∩ window|. `near`: where the last window began in the set.
int64_t measure_from(model::IntervalSet const& set, Interval window, size_t& near) {
  near = model::exponential_search(
      set.size(), [&](size_t i) { return set[i].end; }, window.begin, near);
  size_t at = near;
  if (at == set.size() || set[at].begin >= window.end) return 0;
  int64_t total = std::min(set[at].end, window.end) - std::max(set[at].begin, window.begin);
  for (++at; at < set.size() && set[at].end <= window.end; ++at) total += set[at].length();
  if (at < set.size() && set[at].begin < window.end) total += window.end - set[at].begin;
  return total;
}

/// Adds the parts of the gaps (by time, disjoint) that lie in the window. `near`: where the last
/// window began among them.
void add_causes(IdleSplit& split, Interval window, std::vector<IdleGap> const& gaps, size_t& near) {
  near = model::exponential_search(
      gaps.size(), [&](size_t i) { return gaps[i].when.end; }, window.begin, near);
  for (size_t at = near; at < gaps.size() && gaps[at].when.begin < window.end; ++at) {
    Interval const when = gaps[at].when;
    split[static_cast<size_t>(gaps[at].cause)] +=
        std::min(when.end, window.end) - std::max(when.begin, window.begin);
  }
}

/// A union of intervals that come by begin.
void extend(model::IntervalSet& set, Interval next) {
  if (!set.empty() && next.begin <= set.back().end)
    set.back().end = std::max(set.back().end, next.end);
  else
    add_interval(set, next);
}

void add_causes(IdleSplit& to, IdleSplit const& part) {
  for (size_t cause = 0; cause < to.size(); ++cause) to[cause] += part[cause];
}

/// Adds the split of a window that the first does not overlap.
void add_split(TimeSplit& to, TimeSplit const& part) {
  to.window_ns += part.window_ns;
  to.busy_ns += part.busy_ns;
  to.idle_ns += part.idle_ns;
  to.compute_ns += part.compute_ns;
  to.comm_ns += part.comm_ns;
  to.copy_ns += part.copy_ns;

  to.exposed_comm_ns += part.exposed_comm_ns;
  to.exposed_copy_ns += part.exposed_copy_ns;
  to.exposed_wait_ns += part.exposed_wait_ns;
  to.exposed_late_ns += part.exposed_late_ns;
  if (to.blocking_comm_ns && part.blocking_comm_ns) *to.blocking_comm_ns += *part.blocking_comm_ns;

  to.unhidden_comm_ns += part.unhidden_comm_ns;
  add_causes(to.unhidden_by_cause, part.unhidden_by_cause);
  add_causes(to.idle_by_cause, part.idle_by_cause);
}

}  // namespace

DeviceSets unite_ops(DeviceOps const& device) {
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
  for (IdleGap const& part : unhidden) add_interval(times, part.when);
  sets.unhidden_comm = model::intersect(model::unite(std::move(times)), sets.exposed_comm);
  sets.unhidden = std::move(unhidden);
}

int64_t measure_in(model::IntervalSet const& set, Interval window) {
  size_t near = 0;
  return measure_from(set, window, near);
}

TimeSplit WindowSplitter::split(Interval window) {
  TimeSplit split;
  Near& near = near_;
  split.window_ns = window.length();
  split.busy_ns = measure_from(sets_.busy, window, near.busy);
  split.idle_ns = split.window_ns - split.busy_ns;
  split.compute_ns = measure_from(sets_.compute, window, near.compute);
  split.comm_ns = measure_from(sets_.comm, window, near.comm);
  split.copy_ns = measure_from(sets_.copy, window, near.copy);

  split.exposed_comm_ns = measure_from(sets_.exposed_comm, window, near.exposed_comm);
  split.exposed_copy_ns = measure_from(sets_.exposed_copy, window, near.exposed_copy);
  split.exposed_wait_ns = measure_from(sets_.exposed_wait, window, near.exposed_wait);
  split.exposed_late_ns = measure_from(sets_.exposed_late, window, near.exposed_late);
  if (sets_.blocking_comm)
    split.blocking_comm_ns = measure_from(*sets_.blocking_comm, window, near.blocking_comm);

  split.unhidden_comm_ns = measure_from(sets_.unhidden_comm, window, near.unhidden_comm);
  add_causes(split.unhidden_by_cause, window, sets_.unhidden, near.unhidden);
  add_causes(split.idle_by_cause, window, gaps_, near.gaps);
  return split;
}

TimeSplit split_with_steps(DeviceSets const& sets, std::vector<IdleGap> const& gaps,
                           Interval window, std::vector<StepStats>& steps) {
  WindowSplitter splitter(sets, gaps);
  TimeSplit whole = splitter.split({window.begin, std::min(window.begin, window.end)});
  auto const add = [&](Interval part) {
    if (part.begin < part.end) add_split(whole, splitter.split(part));
  };

  int64_t done = window.begin;  // until here the window is split
  for (StepStats& step : steps) {
    step.time = splitter.split(step.window);
    // Where clocks disagree its ops may end before its host begins it.
    if (step.window.begin >= step.window.end) continue;

    add({done, std::min(step.window.begin, window.end)});
    // The first may begin before the window, as its host did.
    Interval const inside{std::max(step.window.begin, done), std::min(step.window.end, window.end)};
    if (inside == step.window)
      add_split(whole, step.time);
    else
      add(inside);
    done = std::max(done, step.window.end);
  }
  add({done, window.end});
  return whole;
}

}  // namespace stepscope::analyzer
