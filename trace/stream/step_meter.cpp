#include "trace/stream/step_meter.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace stepscope::stream {
namespace {

using model::EventKind;
using model::Interval;
using model::IntervalSet;
using model::OpClass;

/// So many intervals wait for the end of their step; beyond, they become sums before.
constexpr size_t kMostWaiting = 1 << 18;
/// Another track's steps must be so much longer to be the process's from then on.
constexpr double kClearlyLonger = 1.5;
constexpr int64_t kFewestSteps = 3;  ///< and must be so many: one may compile or evaluate
/// A track whose steps do not come any more, for so long beyond their usual length, leads no
/// longer.
constexpr int64_t kGoneNs = 5'000'000'000;
/// A step counts so much in the usual length of its track.
constexpr int64_t kUsualShare = 16;
constexpr char kPowerCounter[] = "power (W)";

size_t place_of(OpClass op_class) { return static_cast<size_t>(op_class) - 1; }

/// The n-th row of a table belongs to the n-th row of its kinds.
template <class Row>
class NextDetail {
 public:
  explicit NextDetail(model::EventView const& rows)
      : rows_(std::get<std::span<Row const>>(rows.details)) {}
  Row const& next() { return rows_[place_++]; }

 private:
  std::span<Row const> rows_;
  size_t place_ = 0;
};

/// Values of several tracks come one track after the other; `take` gets those before `end_ns` in
/// their order.
template <class Values, class Take>
void take_before(Values& values, int64_t end_ns, Take const& take) {
  auto const later = std::stable_partition(values.begin(), values.end(),
                                           [&](auto const& value) { return value.ns < end_ns; });
  std::stable_sort(values.begin(), later, [](auto const& a, auto const& b) { return a.ns < b.ns; });
  std::for_each(values.begin(), later, take);
  values.erase(values.begin(), later);
}

}  // namespace

/// Batches of several tracks come one behind the other, each in order.
void StepMeter::Work::sort() {
  auto const by_begin = [](Interval const& a, Interval const& b) { return a.begin < b.begin; };
  auto const middle = all_.begin() + static_cast<ptrdiff_t>(sorted_);
  if (!std::is_sorted(middle, all_.end(), by_begin)) std::sort(middle, all_.end(), by_begin);
  if (middle != all_.end()) {
    auto const first = all_.begin() + static_cast<ptrdiff_t>(first_);
    auto const from = std::upper_bound(first, middle, *middle, by_begin);
    std::inplace_merge(from, middle, all_.end(), by_begin);
  }
  sorted_ = all_.size();
}

StepMeter::Work::Taken StepMeter::Work::take_before(int64_t end) {
  sort();
  size_t last = first_;
  while (last < all_.size() && all_[last].begin < end) ++last;

  Taken taken;
  taken.began = last - first_ - std::min(carried_, last - first_);
  std::vector<Interval> left;
  taken.when.reserve(last - first_);
  for (size_t i = first_; i < last; ++i) {
    taken.when.push_back({all_[i].begin, std::min(all_[i].end, end)});
    if (all_[i].end > end) left.push_back({end, all_[i].end});
  }
  taken.when = model::unite(std::move(taken.when));

  carried_ = left.size() + (carried_ - std::min(carried_, last - first_));
  first_ = last - left.size();
  std::copy(left.begin(), left.end(), all_.begin() + static_cast<ptrdiff_t>(first_));
  if (first_ > all_.size() / 2) {
    all_.erase(all_.begin(), all_.begin() + static_cast<ptrdiff_t>(first_));
    sorted_ -= first_;
    first_ = 0;
  }
  return taken;
}

void StepMeter::add(model::TrackId id, model::Track const& track, model::EventView const& rows) {
  NextDetail<model::StepDetail> steps(rows);
  NextDetail<model::CollectiveDetail> collectives(rows);
  NextDetail<model::CopyDetail> copies(rows);
  NextDetail<model::MemoryDetail> memory(rows);
  NextDetail<model::SampleDetail> samples(rows);

  bool const is_power = track.kind == model::TrackKind::kCounter && track.device >= 0 &&
                        track.name.starts_with(kPowerCounter);
  for (size_t row = 0; row < rows.size(); ++row) {
    Interval const when = {rows.start[row], rows.start[row] + rows.dur[row]};
    EventKind const kind = rows.kind[row];

    switch (model::kind_info(kind).table) {
      case model::DetailTable::kSteps:
        see_step(id, {steps.next().index, when.begin, when.end});
        break;
      case model::DetailTable::kCollectives: {
        model::CollectiveDetail const& detail = collectives.next();
        if (kind != EventKind::kCollective || when.end <= measured_ns_) break;
        devices_[track.device].collectives.push_back({when.begin, detail.bytes});
        break;
      }
      case model::DetailTable::kCopies: {
        model::CopyDetail const& detail = copies.next();
        if (kind == EventKind::kMemcpy && detail.direction == model::CopyDirection::kHostToDevice)
          devices_[track.device].copies_in.push_back({when.begin, detail.bytes});
        break;
      }
      case model::DetailTable::kMemory:
        see_memory(memory.next(), when);
        break;
      case model::DetailTable::kSamples: {
        double const value = samples.next().value;
        if (is_power && value >= 0 && value < 1e9)
          devices_[track.device].power.push_back({when.begin, static_cast<int64_t>(value * 1000)});
        break;
      }
      default:
        if (kind == EventKind::kInputWait && when.end > measured_ns_)
          input_[id.value].add({std::max(when.begin, measured_ns_), when.end});
    }

    if (OpClass const op_class = model::kind_info(kind).op_class; op_class != OpClass::kNone)
      see_op(track.device, op_class, when);
  }
}

void StepMeter::see_op(int32_t device, OpClass op_class, Interval when) {
  OfDevice& of_device = devices_[device];
  bool const is_late = when.begin < measured_ns_;
  if (is_late) {
    of_device.late_ns += std::min(when.end, measured_ns_) - when.begin;
    when.begin = measured_ns_;
  }
  if (when.begin < when.end || !is_late) of_device.work[place_of(op_class)].add(when);
}

void StepMeter::see_memory(model::MemoryDetail const& call, Interval when) {
  if (when.end > measured_ns_) allocation_.add({std::max(when.begin, measured_ns_), when.end});
  if (call.device < 0 || call.memory == model::MemoryKind::kPinned) return;

  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  auto const level = [&](uint64_t bytes) {
    return Level{when.begin, static_cast<int64_t>(std::min(bytes, kMost))};
  };
  OfDevice& device = devices_[call.device];
  device.allocated.push_back(level(call.allocated_bytes));
  if (call.reserved_bytes > 0) device.reserved.push_back(level(call.reserved_bytes));
}

/// Threads that train together mark the same steps: those of one of them are the process's.
bool StepMeter::leads(uint32_t track, int64_t now_ns) {
  if (leading_ == track) return true;

  if (leading_) {
    OfTrack const& leading = step_tracks_[*leading_];
    bool const is_gone = leading.last_end_ns + 3 * leading.usual_ns + kGoneNs < now_ns;
    OfTrack const& other = step_tracks_[track];
    bool const is_longer =
        other.steps >= kFewestSteps && static_cast<double>(other.usual_ns) >
                                           kClearlyLonger * static_cast<double>(leading.usual_ns);
    if (!is_gone && !is_longer) return false;
  }
  leading_ = track;
  return true;
}

void StepMeter::see_step(model::TrackId id, Ended const& step) {
  OfTrack& track = step_tracks_[id.value];
  int64_t const length = step.end_ns - step.start_ns;
  track.usual_ns += track.usual_ns == 0 ? length : (length - track.usual_ns) / kUsualShare;
  track.last_end_ns = step.end_ns;
  ++track.steps;

  // What another thread that leads now did meanwhile is a part of the next step.
  if (!leads(id.value, step.end_ns) || step.start_ns < last_end_ns_) return;
  last_end_ns_ = step.end_ns;
  ended_.push_back(step);
}

size_t StepMeter::waiting() const {
  size_t count = allocation_.size();
  for (auto const& [track, work] : input_) count += work.size();
  for (auto const& [id, device] : devices_) {
    for (Work const& work : device.work) count += work.size();
    count += device.collectives.size() + device.copies_in.size() + device.allocated.size() +
             device.reserved.size() + device.power.size();
  }
  return count;
}

void StepMeter::measure(OfDevice& device, Interval window, IntervalSet const& input,
                        IntervalSet const& allocation) {
  std::array<Work::Taken, 3> taken;
  for (size_t i = 0; i < taken.size(); ++i) taken[i] = device.work[i].take_before(window.end);
  auto const& [compute, comm, copy] = taken;

  StepRecord& sums = device.sums;
  sums.comm_ns += model::measure(comm.when);
  sums.kernels += static_cast<uint32_t>(compute.began);

  // Each takes what those before it have left.
  IntervalSet left = {window};
  auto const take = [&](TimePart part, IntervalSet const& work) {
    IntervalSet rest = model::subtract(left, work);
    sums.parts[static_cast<size_t>(part)] += model::measure(left) - model::measure(rest);
    left = std::move(rest);
  };
  take(TimePart::kCompute, compute.when);
  take(TimePart::kCommunication, comm.when);
  take(TimePart::kCopy, copy.when);
  take(TimePart::kInput, input);
  take(TimePart::kAllocation, allocation);
  take(TimePart::kIdle, {window});
  sums.input_ns += model::measure(input);

  stream::take_before(device.collectives, window.end, [&](Began const& one) {
    sums.comm_bytes += one.bytes;
    ++sums.collectives;
  });
  stream::take_before(device.copies_in, window.end,
                      [&](Began const& one) { sums.copied_in_bytes += one.bytes; });

  auto const take_peak = [&](std::vector<Level>& levels, int64_t& last, int64_t& peak) {
    peak = std::max(peak, last);
    stream::take_before(levels, window.end, [&](Level const& level) {
      peak = std::max(peak, level.value);
      last = level.value;
    });
  };
  take_peak(device.allocated, device.last_allocated, sums.peak_bytes);
  take_peak(device.reserved, device.last_reserved, sums.reserved_bytes);

  stream::take_before(device.power, window.end, [&](Level const& level) {
    device.power_sum += level.value;
    ++device.power_samples;
    device.last_power = level.value;
  });
}

void StepMeter::advance(int64_t end_ns) {
  Interval const window = {measured_ns_, end_ns};
  if (window.begin >= window.end) return;

  // The loader's own threads wait for data, too, and hold no step up.
  IntervalSet input;
  for (auto& [track, work] : input_) {
    Work::Taken taken = work.take_before(end_ns);
    if (step_tracks_.empty() || step_tracks_.contains(track))
      input = model::unite(input, taken.when);
  }

  IntervalSet const allocation = allocation_.take_before(end_ns).when;
  for (auto& [id, device] : devices_) measure(device, window, input, allocation);
  measured_ns_ = end_ns;
}

void StepMeter::settle(Ended const& step, std::vector<StepRecord>& records) {
  if (devices_.empty()) devices_[-1];
  if (!has_begun_) {  // what was before is of no step
    advance(step.start_ns);
    for (auto& [id, device] : devices_) {
      device.sums = {};
      device.power_sum = device.power_samples = 0;
    }
    step_begin_ns_ = measured_ns_;
    has_begun_ = true;
  }

  // Where so much waited that sums were made before the step came, it ends there.
  int64_t const end_ns = std::max(step.end_ns, measured_ns_);
  advance(end_ns);
  for (auto& [id, device] : devices_) {
    // The first work of a device makes one of a process that seemed to have none.
    if (id < 0 && devices_.size() > 1) {
      if (device.shared) records.push_back(*std::exchange(device.shared, {}));
      device.sums = {};
      continue;
    }
    share(take_step(step, id, device, end_ns), device, records);
  }
  step_begin_ns_ = end_ns;
}

StepRecord StepMeter::take_step(Ended const& step, int32_t id, OfDevice& device, int64_t end_ns) {
  StepRecord record = std::exchange(device.sums, {});
  record.step = step.step;
  record.begin_ns = step_begin_ns_;
  record.length_ns = record.longest_ns = end_ns - step_begin_ns_;
  record.between_ns = std::clamp<int64_t>(step.start_ns - step_begin_ns_, 0, record.length_ns);
  record.device = id;
  record.late_ns = std::exchange(device.late_ns, 0);
  record.dropped = dropped_ - std::exchange(reported_dropped_, dropped_);

  auto const samples = std::exchange(device.power_samples, 0);
  auto const sum = std::exchange(device.power_sum, 0);
  record.power_mw = samples > 0 ? sum / samples : device.last_power;

  // What came with a device in the midst of the step knows nothing of the time before.
  int64_t known = 0;
  for (int64_t const part : record.parts) known += part;
  record.parts[static_cast<size_t>(TimePart::kIdle)] += record.length_ns - known;
  return record;
}

void StepMeter::share(StepRecord const& step, OfDevice& device, std::vector<StepRecord>& records) {
  std::optional<StepRecord>& shared = device.shared;
  bool const goes_on =
      shared && shared->step + shared->steps == step.step && step.length_ns < kShortestRecordNs;
  if (shared && !goes_on) records.push_back(*std::exchange(shared, {}));

  if (shared) {
    append(*shared, step);
  } else {
    shared = step;
    device.steps_of_record = steps_of_record(step.length_ns);
  }
  if ((step.step + 1) % device.steps_of_record == 0) records.push_back(*std::exchange(shared, {}));
}

void StepMeter::settle_before(int64_t ns, std::vector<StepRecord>& records) {
  while (!ended_.empty() && ended_.front().end_ns <= ns) {
    settle(ended_.front(), records);
    ended_.pop_front();
  }
}

std::vector<StepRecord> StepMeter::take(int64_t settled_ns) {
  std::vector<StepRecord> records;
  settle_before(settled_ns, records);
  if (waiting() > kMostWaiting) advance(settled_ns);
  return records;
}

std::vector<StepRecord> StepMeter::take_rest() {
  std::vector<StepRecord> records;
  settle_before(model::kMaxTime, records);
  for (auto& [id, device] : devices_)
    if (device.shared) records.push_back(*std::exchange(device.shared, {}));
  return records;
}

}  // namespace stepscope::stream
