#include "analyzer/rules/measured_steps.h"

#include <algorithm>

namespace stepscope::analyzer {
namespace {

template <class Row>
std::pair<size_t, size_t> rows_of(std::vector<Row> const& rows, DeviceRef ref) {
  auto const first = std::partition_point(rows.begin(), rows.end(), [&](Row const& row) { return row.ref < ref; });
  auto const last = std::partition_point(first, rows.end(), [&](Row const& row) { return row.ref <= ref; });
  return {static_cast<size_t>(first - rows.begin()), static_cast<size_t>(last - rows.begin())};
}

/// True if gaps (by time, disjoint) fill the window.
bool is_idle(std::vector<IdleGap> const& gaps, size_t first, size_t last, Interval window) {
  int64_t idle = 0;
  auto const end = gaps.begin() + static_cast<ptrdiff_t>(last);
  auto gap = std::partition_point(gaps.begin() + static_cast<ptrdiff_t>(first), end,
                                  [&](IdleGap const& g) { return g.when.end <= window.begin; });
  for (; gap != end && gap->when.begin < window.end; ++gap)
    idle += std::min(gap->when.end, window.end) - std::max(gap->when.begin, window.begin);
  return idle == window.length();
}

/// A recording of collectives and nothing else, not even their launches: what the device did besides, and so what it lost, is not
/// known.
bool is_communication_alone(DeviceFacts const& device) {
  return device.collectives > 0 && device.collectives == device.kernels && device.copies == 0 && device.launches == 0;
}

void add_time(MeasuredDevice& device, TimeSplit const& time) {
  device.compute_ns += time.compute_ns;
  device.exposed_comm_ns += time.exposed_comm_ns;
  device.exposed_wait_ns += time.exposed_wait_ns;
  device.exposed_copy_ns += time.exposed_copy_ns;
}

/// Pieces that touch are of one idle time: from a sync on, all later ones of it come after a sync.
void mark_after_sync(MeasuredDevice& device) {
  bool after = false;
  for (size_t i = 0; i < device.gaps.size(); ++i) {
    if (i == 0 || device.gaps[i - 1].when.end != device.gaps[i].when.begin) after = false;
    device.after_sync.push_back(after);
    after = after || device.gaps[i].cause == IdleCause::kSync;
  }
}

/// Copies the parts of gaps that lie in the periods.
void add_gaps(MeasuredDevice& device, std::vector<IdleGap> const& gaps, size_t first, size_t last) {
  size_t at = first;
  for (Interval const& period : device.periods) {
    device.total_ns += period.length();
    while (at < last && gaps[at].when.end <= period.begin) ++at;
    for (size_t g = at; g < last && gaps[g].when.begin < period.end; ++g) {
      IdleGap gap = gaps[g];
      gap.when = {std::max(gap.when.begin, period.begin), std::min(gap.when.end, period.end)};
      device.idle[static_cast<size_t>(gap.cause)] += gap.when.length();
      device.gaps.push_back(gap);
    }
  }
}

}  // namespace

bool MeasuredDevice::is_measured(int64_t instant) const {
  auto const period = std::partition_point(periods.begin(), periods.end(), [&](Interval const& p) { return p.end <= instant; });
  return period != periods.end() && period->begin <= instant;
}

std::vector<MeasuredDevice> measure_steps(Analysis const& facts) {
  std::vector<MeasuredDevice> result;
  for (DeviceFacts const& of_device : facts.devices) {
    MeasuredDevice& device = result.emplace_back();
    device.ref = of_device.ref;
    auto const [first_gap, last_gap] = rows_of(facts.gaps, device.ref);
    auto const [first, last] = rows_of(facts.steps, device.ref);
    for (size_t i = first; i < last; ++i) {
      StepFacts const& step = facts.steps[i];
      device.has_steps = true;
      if (step.warmup) continue;
      Interval period = step.window;
      if (i > first && facts.steps[i - 1].step + 1 == step.step) {
        Interval const lead{facts.steps[i - 1].window.end, step.window.begin};
        if (lead.begin < lead.end && is_idle(facts.gaps, first_gap, last_gap, lead)) period.begin = lead.begin;
      }
      // Steps come by number; a job that counts from 0 again would go back in time.
      if (!device.periods.empty() && period.begin < device.periods.back().end) continue;
      device.periods.push_back(period);
      add_time(device, step.time);
    }
    if (!device.has_steps && of_device.window.length() > 0 && !is_communication_alone(of_device)) {
      device.periods.push_back(of_device.window);
      add_time(device, of_device.time);
    }
    add_gaps(device, facts.gaps, first_gap, last_gap);
    mark_after_sync(device);
  }
  return result;
}

}  // namespace stepscope::analyzer
