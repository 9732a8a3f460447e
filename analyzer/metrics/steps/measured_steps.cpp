#include "analyzer/metrics/steps/measured_steps.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <optional>
#include <span>

#include <tbb/parallel_for.h>

#include "analyzer/metrics/core/quantile.h"

namespace stepscope::analyzer {
namespace {

template <class Row>
std::pair<size_t, size_t> rows_of(std::vector<Row> const& rows, DeviceRef ref) {
  auto const first =
      std::partition_point(rows.begin(), rows.end(), [&](Row const& row) { return row.ref < ref; });
  auto const last =
      std::partition_point(first, rows.end(), [&](Row const& row) { return row.ref <= ref; });
  return {static_cast<size_t>(first - rows.begin()), static_cast<size_t>(last - rows.begin())};
}

/// A window that a device's gaps fill, by cause; none where they do not. `near`: where the window
/// before lay among them.
std::optional<IdleSplit> split_idle(DeviceGaps const& gaps, Interval window, size_t& near) {
  IdleSplit split{};
  int64_t idle = 0;

  near = gaps.exponential_search(window.begin, near);
  for (size_t i = near; i < gaps.size(); ++i) {
    Interval const gap = gaps.when(i);
    if (gap.begin >= window.end) break;
    int64_t const part = std::min(gap.end, window.end) - std::max(gap.begin, window.begin);
    split[static_cast<size_t>(gaps.cause(i))] += part;
    idle += part;
  }
  return idle == window.length() ? std::optional(split) : std::nullopt;
}

struct Period {
  StepStats const* step;
  Interval when;
  IdleSplit lead{};
};

bool follows(StepStats const& before, StepStats const& step) {
  return step.before == StepBefore::kFollows ||
         (step.before == StepBefore::kByNumber && before.step + 1 == step.step);
}

/// The periods of a device's measured steps, rows first..last − 1; by time, disjoint.
std::vector<Period> periods_of(std::vector<StepStats> const& steps, size_t first, size_t last,
                               DeviceGaps const* gaps) {
  std::vector<Period> result;
  size_t near = 0;
  for (size_t i = first; i < last; ++i) {
    StepStats const& step = steps[i];
    if (step.warmup) continue;

    Period period{&step, step.window};
    if (i > first && follows(steps[i - 1], step)) {
      Interval const lead{steps[i - 1].window.end, step.window.begin};
      auto const idle =
          lead.begin < lead.end && gaps != nullptr ? split_idle(*gaps, lead, near) : std::nullopt;
      if (idle) {
        period.when.begin = lead.begin;
        period.lead = *idle;
      }
    }
    // Steps come by number; a job that counts from 0 again would go back in time.
    if (result.empty() || period.when.begin >= result.back().when.end) result.push_back(period);
  }
  return result;
}

/// With fewer steps there is no telling which length is the usual one.
constexpr size_t kFewestSteps = 8;
/// Where steps vary much an outlier is beyond that, too: by so many times the distance of the
/// quartiles above the upper one (Tukey's outer fence). So more than a quarter of the steps are
/// never outliers but another population (evaluation, other sequence lengths).
constexpr double kFence = 3;

/// A step of the warm-up may be so many times as long as the one before: within it times go down,
/// but for noise.
constexpr double kSettling = 1.1;

/// How many of the first periods are much longer than the later half, and settle to it. A single
/// long one is of the warm-up only where no later one is as long: else it is one of the outliers.
size_t count_slow_start(std::vector<Period> const& periods) {
  if (periods.size() < kFewestSteps) return 0;
  size_t const half = periods.size() / 2;
  std::vector<int64_t> later;
  for (size_t i = half; i < periods.size(); ++i) later.push_back(periods[i].when.length());

  auto const limit = static_cast<int64_t>(kOutlier * static_cast<double>(lower_median(later)));
  auto const is_long = [&](Period const& period) { return period.when.length() > limit; };
  auto const end = std::find_if_not(periods.begin(), periods.end(), is_long);
  auto const count = static_cast<size_t>(end - periods.begin());
  if (count == 0 || count >= half) return 0;

  for (size_t i = 1; i < count; ++i) {
    auto const before = static_cast<double>(periods[i - 1].when.length());
    if (static_cast<double>(periods[i].when.length()) > kSettling * before) return 0;
  }
  return count == 1 && std::any_of(end, periods.end(), is_long) ? 0 : count;
}

/// The longest period that is no outlier, ns.
int64_t steady_limit(std::span<Period const> periods) {
  std::vector<int64_t> lengths;
  for (Period const& period : periods) lengths.push_back(period.when.length());
  std::sort(lengths.begin(), lengths.end());
  return longest_usual_ns(lengths);
}

struct UsualRange {
  size_t slow_start = 0;  ///< periods in front that settle
  int64_t longest = 0;    ///< period behind them that is no outlier
};

UsualRange steady_range(std::vector<Period> const& periods) {
  size_t const slow = count_slow_start(periods);
  return {slow, steady_limit(std::span(periods).subspan(slow))};
}

/// A recording of collectives and nothing else, not even their launches: what the device did
/// besides, and so what it lost, is not known.
bool is_communication_alone(DeviceStats const& device) {
  return device.collectives > 0 && device.collectives == device.kernels && device.copies == 0 &&
         device.launches == 0;
}

/// Whether a device without steps counts as one period.
bool stands_as_one_period(DeviceStats const& device) {
  return device.window.length() > 0 && !is_communication_alone(device);
}

void add_time(MeasuredDevice& device, TimeSplit const& time) {
  device.comm_ns += time.comm_ns;
  device.copy_ns += time.copy_ns;
  device.compute_ns += time.compute_ns;
  device.exposed_comm_ns += time.exposed_comm_ns;
  device.exposed_wait_ns += time.exposed_wait_ns;
  device.exposed_late_ns += time.exposed_late_ns;
  device.exposed_copy_ns += time.exposed_copy_ns;
  device.unhidden_comm_ns += time.unhidden_comm_ns;

  for (size_t c = 0; c < device.unhidden.size(); ++c)
    device.unhidden[c] += time.unhidden_by_cause[c];
}

/// Gives devices their gaps in periods that come by time.
class GapReader {
 public:
  /// Null: there are none.
  explicit GapReader(DeviceGaps const* gaps) : gaps_(gaps) {}

  void read(Interval period, std::initializer_list<MeasuredDevice*> devices) {
    if (gaps_ == nullptr || period.length() <= 0) return;
    size_t const first = gaps_->exponential_search(period.begin, next_);
    next_ = gaps_->exponential_search(period.end, first);
    bool const has_part = next_ < gaps_->size() && gaps_->when(next_).begin < period.end;
    size_t const behind = next_ + (has_part ? 1 : 0);
    if (first >= behind) return;

    IdleSplit idle = gaps_->idle_of(first, behind);
    for (size_t const row : {first, behind - 1}) {
      // What lies outside of the period, where it cuts its first and its last gap.
      Interval const gap = gaps_->when(row);
      int64_t& of_cause = idle[static_cast<size_t>(gaps_->cause(row))];
      if (row == first) of_cause -= std::max<int64_t>(0, period.begin - gap.begin);
      if (row == behind - 1) of_cause -= std::max<int64_t>(0, gap.end - period.end);
      if (behind - first == 1) break;
    }

    for (MeasuredDevice* const device : devices) {
      device->gaps.add(*gaps_, first, behind, period);
      for (size_t cause = 0; cause < idle.size(); ++cause) device->idle[cause] += idle[cause];
    }
  }

 private:
  DeviceGaps const* gaps_;
  size_t next_ = 0;  ///< about where the next period begins
};

}  // namespace

GapList::Stretch const& GapList::stretch_of(size_t place) const {
  return *std::prev(
      std::partition_point(stretches_.begin(), stretches_.end(),
                           [&](Stretch const& stretch) { return stretch.place <= place; }));
}

IdleGap GapList::operator[](size_t place) const {
  IdleGap gap = (*all_)[row(place)];
  gap.when = when(place);
  return gap;
}

Interval GapList::when(size_t place) const {
  Stretch const& stretch = stretch_of(place);
  return stretch.is_cut ? stretch.part : all_->when(stretch.row + (place - stretch.place));
}

void GapList::add(DeviceGaps const& all, size_t first, size_t behind, Interval period) {
  all_ = &all;
  auto const add_stretch = [&](size_t row, size_t count, std::optional<Interval> part) {
    if (count == 0) return;
    bool const goes_on = !stretches_.empty() && !stretches_.back().is_cut && !part &&
                         stretches_.back().row + (size_ - stretches_.back().place) == row;
    if (!goes_on)
      stretches_.push_back({static_cast<uint32_t>(size_), static_cast<uint32_t>(row),
                            part.has_value(), part.value_or(Interval())});
    size_ += count;
  };
  auto const part_of = [&](size_t row) -> std::optional<Interval> {
    Interval const gap = all.when(row);
    Interval const part{std::max(gap.begin, period.begin), std::min(gap.end, period.end)};
    return part == gap ? std::nullopt : std::optional(part);
  };

  add_stretch(first, 1, part_of(first));
  if (behind - first == 1) return;
  add_stretch(first + 1, behind - first - 2, std::nullopt);
  add_stretch(behind - 1, 1, part_of(behind - 1));
}

bool MeasuredDevice::is_measured(int64_t instant) const {
  auto const period = std::partition_point(periods.begin(), periods.end(),
                                           [&](Interval const& p) { return p.end <= instant; });
  return period != periods.end() && period->begin <= instant;
}

namespace {

/// The periods of one device, grouped as in MeasuredSteps.
struct DevicePeriods {
  MeasuredDevice all, steady, outliers, slow_start;
};

/// `in_periods`: null where idle time and gaps shall stay empty.
DevicePeriods divide_periods(Analysis const& facts, DeviceStats const& device,
                             DeviceGaps const* in_periods) {
  auto const [first, last] = rows_of(facts.steps, device.ref);
  MeasuredDevice none;
  none.ref = device.ref;
  none.has_steps = first < last;
  DevicePeriods result{none, none, none, none};

  GapReader gaps(in_periods);
  auto const add = [&](MeasuredDevice& group, Interval when, TimeSplit const& time) {
    for (MeasuredDevice* to : {&result.all, &group}) {
      to->periods.push_back(when);
      to->total_ns += when.length();
      add_time(*to, time);
    }
    gaps.read(when, {&result.all, &group});
  };

  std::vector<Period> const periods =
      periods_of(facts.steps, first, last, facts.gaps.of(device.ref));
  auto const [slow, limit] = steady_range(periods);
  for (size_t i = 0; i < periods.size(); ++i) {
    Period const& period = periods[i];
    MeasuredDevice& rest = period.when.length() > limit ? result.outliers : result.steady;
    add(i < slow ? result.slow_start : rest, period.when, period.step->time);
  }

  if (!none.has_steps && stands_as_one_period(device))
    add(result.steady, device.window, device.time);
  return result;
}

/// Fills place `d` of the result.
void measure_device(Analysis const& facts, size_t d, MeasuredSteps& result) {
  DeviceStats const& device = facts.devices[d];
  auto [all, steady, outliers, slow_start] =
      divide_periods(facts, device, facts.gaps.of(device.ref));

  result.all[d] = std::move(all);
  result.steady[d] = std::move(steady);
  result.outliers[d] = std::move(outliers);
  result.slow_start[d] = std::move(slow_start);
}

}  // namespace

std::vector<std::vector<MeasuredPeriod>> measured_periods(Analysis const& facts) {
  std::vector<std::vector<MeasuredPeriod>> result(facts.devices.size());
  tbb::parallel_for(size_t{0}, facts.devices.size(), [&](size_t d) {
    DeviceStats const& device = facts.devices[d];
    auto const [first, last] = rows_of(facts.steps, device.ref);
    std::vector<Period> const periods =
        periods_of(facts.steps, first, last, facts.gaps.of(device.ref));

    auto const [slow, limit] = steady_range(periods);
    for (size_t i = 0; i < periods.size(); ++i)
      result[d].push_back(
          {periods[i].when, periods[i].lead, i >= slow && periods[i].when.length() <= limit});
    if (first == last && stands_as_one_period(device)) result[d].push_back({device.window});
  });
  return result;
}

int64_t longest_usual_ns(std::span<int64_t const> sorted) {
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  if (sorted.size() < kFewestSteps) return kNoLimit;

  auto const at = [&](size_t quarters) {
    return static_cast<double>(sorted[(sorted.size() - 1) * quarters / 4]);
  };
  double const limit = std::max(kOutlier * at(2), at(3) + kFence * (at(3) - at(1)));
  return limit < static_cast<double>(kNoLimit) ? static_cast<int64_t>(limit) : kNoLimit;
}

std::vector<MeasuredDevice> measure_steady_times(Analysis const& facts) {
  std::vector<MeasuredDevice> result(facts.devices.size());
  tbb::parallel_for(size_t{0}, result.size(), [&](size_t d) {
    result[d] = divide_periods(facts, facts.devices[d], nullptr).steady;
  });
  return result;
}

MeasuredSteps measure_steps(Analysis const& facts) {
  MeasuredSteps result;
  for (auto* devices : {&result.all, &result.steady, &result.outliers, &result.slow_start})
    devices->resize(facts.devices.size());
  tbb::parallel_for(size_t{0}, facts.devices.size(),
                    [&](size_t d) { measure_device(facts, d, result); });
  return result;
}

}  // namespace stepscope::analyzer
