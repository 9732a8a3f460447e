#include "analyzer/rules/measured_steps.h"

#include <algorithm>
#include <limits>

namespace stepscope::analyzer {
namespace {

template <class Row>
std::pair<size_t, size_t> rows_of(std::vector<Row> const& rows, DeviceRef ref) {
  auto const first = std::partition_point(rows.begin(), rows.end(), [&](Row const& row) { return row.ref < ref; });
  auto const last = std::partition_point(first, rows.end(), [&](Row const& row) { return row.ref <= ref; });
  return {static_cast<size_t>(first - rows.begin()), static_cast<size_t>(last - rows.begin())};
}

/// The gaps of a device, by time, disjoint.
struct Gaps {
  IdleGap const *first, *last;
  Gaps(std::vector<IdleGap> const& all, DeviceRef ref) {
    auto const [begin, end] = rows_of(all, ref);
    first = all.data() + begin;
    last = all.data() + end;
  }
  /// True if they fill the window.
  [[nodiscard]] bool fill(Interval window) const {
    int64_t idle = 0;
    IdleGap const* gap = std::partition_point(first, last, [&](IdleGap const& g) { return g.when.end <= window.begin; });
    for (; gap != last && gap->when.begin < window.end; ++gap)
      idle += std::min(gap->when.end, window.end) - std::max(gap->when.begin, window.begin);
    return idle == window.length();
  }
};

struct Period {
  StepFacts const* step;
  Interval when;
};

/// Of the measured steps of a device, rows first..last − 1; by time, disjoint.
std::vector<Period> periods_of(std::vector<StepFacts> const& steps, size_t first, size_t last, Gaps const& gaps) {
  std::vector<Period> result;
  for (size_t i = first; i < last; ++i) {
    StepFacts const& step = steps[i];
    if (step.warmup) continue;
    Interval period = step.window;
    if (i > first && steps[i - 1].step + 1 == step.step) {
      Interval const lead{steps[i - 1].window.end, step.window.begin};
      if (lead.begin < lead.end && gaps.fill(lead)) period.begin = lead.begin;
    }
    // Steps come by number; a job that counts from 0 again would go back in time.
    if (result.empty() || period.begin >= result.back().when.end) result.push_back({&step, period});
  }
  return result;
}

/// Of at least one; of two in the middle the shorter.
int64_t median(std::vector<int64_t> values) {
  auto const middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// With fewer steps there is no telling which length is the usual one.
constexpr size_t kFewestSteps = 8;
/// More than this share are not outliers but another population (evaluation, other sequence lengths).
constexpr double kMostOutliers = 0.25;

/// The longest period that is no outlier, ns.
int64_t usual_limit(std::vector<Period> const& periods) {
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  if (periods.size() < kFewestSteps) return kNoLimit;
  std::vector<int64_t> lengths;
  for (Period const& period : periods) lengths.push_back(period.when.length());
  auto const limit = static_cast<int64_t>(kOutlier * static_cast<double>(median(lengths)));
  auto const longer = std::count_if(lengths.begin(), lengths.end(), [&](int64_t length) { return length > limit; });
  return static_cast<double>(longer) <= kMostOutliers * static_cast<double>(lengths.size()) ? limit : kNoLimit;
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
void add_gaps(MeasuredDevice& device, Gaps const& gaps) {
  IdleGap const* at = gaps.first;
  for (Interval const& period : device.periods) {
    device.total_ns += period.length();
    while (at < gaps.last && at->when.end <= period.begin) ++at;
    for (IdleGap const* g = at; g < gaps.last && g->when.begin < period.end; ++g) {
      IdleGap gap = *g;
      gap.when = {std::max(gap.when.begin, period.begin), std::min(gap.when.end, period.end)};
      device.idle[static_cast<size_t>(gap.cause)] += gap.when.length();
      device.gaps.push_back(gap);
    }
  }
  mark_after_sync(device);
}

}  // namespace

bool MeasuredDevice::is_measured(int64_t instant) const {
  auto const period = std::partition_point(periods.begin(), periods.end(), [&](Interval const& p) { return p.end <= instant; });
  return period != periods.end() && period->begin <= instant;
}

MeasuredSteps measure_steps(Analysis const& facts) {
  MeasuredSteps result;
  for (DeviceFacts const& device : facts.devices) {
    Gaps const gaps(facts.gaps, device.ref);
    auto const [first, last] = rows_of(facts.steps, device.ref);
    MeasuredDevice all;
    all.ref = device.ref;
    all.has_steps = first < last;
    MeasuredDevice usual = all, outliers = all;
    auto const add = [](MeasuredDevice& to, Interval when, TimeSplit const& time) {
      to.periods.push_back(when);
      add_time(to, time);
    };
    std::vector<Period> const periods = periods_of(facts.steps, first, last, gaps);
    int64_t const limit = usual_limit(periods);
    for (Period const& period : periods) {
      add(all, period.when, period.step->time);
      add(period.when.length() > limit ? outliers : usual, period.when, period.step->time);
    }
    if (!all.has_steps && device.window.length() > 0 && !is_communication_alone(device))
      for (MeasuredDevice* to : {&all, &usual}) add(*to, device.window, device.time);
    for (MeasuredDevice* of : {&all, &usual, &outliers}) add_gaps(*of, gaps);
    result.all.push_back(std::move(all));
    result.usual.push_back(std::move(usual));
    result.outliers.push_back(std::move(outliers));
  }
  return result;
}

}  // namespace stepscope::analyzer
