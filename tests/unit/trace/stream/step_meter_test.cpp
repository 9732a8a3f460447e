// Records of random processes against a naive twin that classifies every millisecond, then the
// cases that are easily missed.
#include "trace/stream/step_meter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "trace/model/event_batch.h"
#include "trace/model/event_view.h"

namespace stepscope::stream {
namespace {

using model::EventKind;
using model::TrackKind;

/// Times of this test are in slots of 1 ms. No event ends later than kLastSlot.
constexpr int64_t kSlotNs = 1'000'000, kLastSlot = 3000;

/// One event of any kind.
struct SlotRow {
  EventKind kind = EventKind::kRange;
  int64_t begin = 0, end = 0;
  int64_t value = 0;  ///< number of a step, bytes of a copy or collective, watts of a sample
  model::CopyDirection direction = model::CopyDirection::kUnknown;
  model::MemoryDetail memory = {};
};
struct TrackRows {
  model::Track track;
  std::vector<SlotRow> rows;
};
/// The id of a track is its place here.
using SlotProcess = std::vector<TrackRows>;

model::Track thread_track() { return {.kind = TrackKind::kThread}; }
model::Track stream_track(int32_t device) { return {.kind = TrackKind::kStream, .device = device}; }
model::Track counter_track(std::string name, int32_t device) {
  return {.kind = TrackKind::kCounter, .name = std::move(name), .device = device};
}
/// Steps 0, 1, … of `length` slots without gaps.
std::vector<SlotRow> step_rows(int64_t count, int64_t length, int64_t begin = 0) {
  std::vector<SlotRow> rows;
  for (int64_t i = 0; i < count; ++i, begin += length)
    rows.push_back({EventKind::kStep, begin, begin + length, i});
  return rows;
}

void append_row(model::EventBatch& batch, SlotRow const& row) {
  int64_t const start = row.begin * kSlotNs, dur = (row.end - row.begin) * kSlotNs;
  auto const bytes = static_cast<uint64_t>(row.value);
  auto const add = [&](auto const& it) { batch.add(row.kind, start, dur, {0}, 0, it); };

  model::DetailTable const table = model::kind_info(row.kind).table;
  if (table == model::DetailTable::kNone) batch.add(row.kind, start, dur, {0});
  if (table == model::DetailTable::kSteps) add(model::StepDetail{row.value});
  if (table == model::DetailTable::kKernels) add(model::KernelDetail{});
  if (table == model::DetailTable::kCopies) add(model::CopyDetail{bytes, row.direction});
  if (table == model::DetailTable::kCollectives) add(model::CollectiveDetail{bytes});
  if (table == model::DetailTable::kStreamWaits) add(model::StreamWaitDetail{});
  if (table == model::DetailTable::kMemory) add(row.memory);
  if (table == model::DetailTable::kSamples)
    add(model::SampleDetail{static_cast<double>(row.value)});
}

/// Adds the rows that end in (from, to], one batch a track, each in the order of its starts.
void feed_slots(StepMeter& meter, SlotProcess const& process, int64_t from = -1,
                int64_t to = kLastSlot) {
  for (uint32_t id = 0; id < process.size(); ++id) {
    model::EventBatch batch;
    for (SlotRow const& row : process[id].rows)
      if (row.end > from && row.end <= to) append_row(batch, row);
    if (batch.empty()) continue;

    batch = model::sorted_copy(batch);
    meter.add(model::TrackId{id}, process[id].track, model::EventView(batch));
  }
}

std::vector<StepRecord> records_at_once(SlotProcess const& process) {
  StepMeter meter;
  feed_slots(meter, process);
  return meter.take_rest();
}

/// As a recorder does it: rows come when they have ended, steps are taken half a second later.
std::vector<StepRecord> records_in_pieces(SlotProcess const& process, uint64_t seed) {
  std::mt19937_64 random(seed);
  StepMeter meter;
  std::vector<StepRecord> records;

  for (int64_t from = -1, to = 0; from < kLastSlot; from = to) {
    to = from + 20 + static_cast<int64_t>(random() % 100);
    feed_slots(meter, process, from, to);
    std::ranges::copy(meter.take((to - 500) * kSlotNs), std::back_inserter(records));
  }

  std::ranges::copy(meter.take_rest(), std::back_inserter(records));
  return records;
}

// The naive twin follows: the definition, word by word.

bool has_steps(TrackRows const& each) {
  return std::ranges::find(each.rows, EventKind::kStep, &SlotRow::kind) != each.rows.end();
}
bool is_stream_of(TrackRows const& each, int32_t device) {
  return each.track.kind == TrackKind::kStream && each.track.device == device;
}

/// Values by the slot in which they were read.
using Readings = std::map<int64_t, int64_t>;

/// The values in [begin, end). Without any, the last one before, or −1.
std::vector<int64_t> values_in(Readings const& readings, int64_t begin, int64_t end) {
  auto const first = readings.lower_bound(begin), last = readings.lower_bound(end);
  std::vector<int64_t> values;
  for (auto at = first; at != last; ++at) values.push_back(at->second);
  if (values.empty()) values.push_back(first == readings.begin() ? -1 : std::prev(first)->second);
  return values;
}

/// A level holds until the next one: that at the begin counts, too.
int64_t most_in(Readings const& levels, int64_t begin, int64_t end) {
  auto const first = levels.lower_bound(begin);
  int64_t const before = first == levels.begin() ? -1 : std::prev(first)->second;
  return std::max(before, std::ranges::max(values_in(levels, begin, end)));
}

struct TwinDevice {
  int32_t device = -1;
  /// The slots of each TimePart, also those in which an earlier one applies.
  std::array<std::bitset<kLastSlot>, kTimeParts> slots;
  Readings allocated, reserved, power;
  std::optional<StepRecord> shared;
  int64_t steps_of_record = 1;
};

void paint(TwinDevice& twin, TimePart part, SlotRow const& row) {
  for (int64_t slot = row.begin; slot < row.end; ++slot)
    twin.slots[static_cast<size_t>(part)].set(static_cast<size_t>(slot));
}

void paint_op(TwinDevice& twin, SlotRow const& row) {
  model::OpClass const op_class = model::kind_info(row.kind).op_class;
  if (op_class == model::OpClass::kCompute) paint(twin, TimePart::kCompute, row);
  if (op_class == model::OpClass::kComm) paint(twin, TimePart::kCommunication, row);
  if (op_class == model::OpClass::kCopy) paint(twin, TimePart::kCopy, row);
}

void read_memory(TwinDevice& twin, SlotRow const& row) {
  model::MemoryDetail const& call = row.memory;
  if (call.device != twin.device || call.memory == model::MemoryKind::kPinned) return;
  twin.allocated[row.begin] = static_cast<int64_t>(call.allocated_bytes);
  if (call.reserved_bytes > 0) twin.reserved[row.begin] = static_cast<int64_t>(call.reserved_bytes);
}

TwinDevice twin_device(SlotProcess const& process, int32_t device) {
  TwinDevice twin{.device = device};
  twin.slots[static_cast<size_t>(TimePart::kIdle)].set();

  for (TrackRows const& each : process)
    for (SlotRow const& row : each.rows) {
      if (is_stream_of(each, device)) paint_op(twin, row);
      if (row.kind == EventKind::kInputWait && has_steps(each)) paint(twin, TimePart::kInput, row);
      if (row.kind == EventKind::kMemory) paint(twin, TimePart::kAllocation, row);
      if (row.kind == EventKind::kMemory && device >= 0) read_memory(twin, row);
      if (each.track.name == "power (W)" && device >= 0 && each.track.device == device)
        twin.power[row.begin] = row.value * 1000;
    }
  return twin;
}

void count_op(SlotRow const& row, StepRecord& record) {
  if (model::kind_info(row.kind).op_class == model::OpClass::kCompute) ++record.kernels;
  if (row.kind == EventKind::kCollective) ++record.collectives;
  if (row.kind == EventKind::kCollective) record.comm_bytes += static_cast<uint64_t>(row.value);
  if (row.kind == EventKind::kMemcpy && row.direction == model::CopyDirection::kHostToDevice)
    record.copied_in_bytes += static_cast<uint64_t>(row.value);
}

StepRecord twin_record(SlotProcess const& process, TwinDevice const& twin, SlotRow const& step,
                       int64_t begin) {
  StepRecord record{.step = step.value, .begin_ns = begin * kSlotNs, .device = twin.device};
  record.length_ns = record.longest_ns = (step.end - begin) * kSlotNs;
  record.between_ns = (step.begin - begin) * kSlotNs;

  for (auto slot = static_cast<size_t>(begin); slot < static_cast<size_t>(step.end); ++slot) {
    size_t part = 0;
    while (!twin.slots[part][slot]) ++part;
    record.parts[part] += kSlotNs;
    if (twin.slots[static_cast<size_t>(TimePart::kCommunication)][slot]) record.comm_ns += kSlotNs;
    if (twin.slots[static_cast<size_t>(TimePart::kInput)][slot]) record.input_ns += kSlotNs;
  }
  for (TrackRows const& each : process)
    for (SlotRow const& row : each.rows)
      if (is_stream_of(each, twin.device) && row.begin >= begin && row.begin < step.end)
        count_op(row, record);

  record.peak_bytes = most_in(twin.allocated, begin, step.end);
  record.reserved_bytes = most_in(twin.reserved, begin, step.end);
  std::vector<int64_t> const power = values_in(twin.power, begin, step.end);
  record.power_mw =
      std::accumulate(power.begin(), power.end(), int64_t{0}) / static_cast<int64_t>(power.size());
  return record;
}

/// The records of a process whose steps have contiguous numbers.
std::vector<StepRecord> twin_records(SlotProcess const& process) {
  std::map<int32_t, TwinDevice> twins;
  for (TrackRows const& each : process)
    if (each.track.kind == TrackKind::kStream)
      twins[each.track.device] = twin_device(process, each.track.device);
  if (twins.empty()) twins[-1] = twin_device(process, -1);

  std::vector<StepRecord> records;
  std::optional<int64_t> begin;
  for (SlotRow const& step : std::ranges::find_if(process, has_steps)->rows) {
    if (step.kind != EventKind::kStep) continue;
    for (auto& [device, twin] : twins) {
      StepRecord const next = twin_record(process, twin, step, begin.value_or(step.begin));
      if (twin.shared && next.length_ns >= kShortestRecordNs)
        records.push_back(*std::exchange(twin.shared, {}));
      if (twin.shared) append(*twin.shared, next);
      if (!twin.shared) {
        twin.shared = next;
        twin.steps_of_record = steps_of_record(next.length_ns);
      }
      if ((next.step + 1) % twin.steps_of_record != 0) continue;
      records.push_back(*twin.shared);
      twin.shared.reset();
    }
    begin = step.end;
  }

  for (auto const& [device, twin] : twins)
    if (twin.shared) records.push_back(*twin.shared);
  return records;
}

auto fields_of(StepRecord const& it) {
  return std::tuple(it.step, it.steps, it.device, it.begin_ns, it.length_ns, it.longest_ns,
                    it.between_ns, it.parts, it.comm_ns, it.input_ns, it.comm_bytes,
                    it.copied_in_bytes, it.collectives, it.kernels, it.peak_bytes,
                    it.reserved_bytes, it.power_mw, it.dropped, it.late_ns);
}
void expect_alike(std::vector<StepRecord> const& actual, std::vector<StepRecord> const& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_EQ(fields_of(actual[i]), fields_of(expected[i])) << "record " << i;
}

/// 12 steps of a thread, a thread without steps, and 1 to 3 devices with 1 to 3 streams each.
class RandomProcess {
 public:
  explicit RandomProcess(uint64_t seed) : random_(seed) {}

  SlotProcess make(int64_t shortest, int64_t longest) {
    SlotProcess process = {{thread_track(), steps(shortest, longest)}, {thread_track(), {}}};
    for (TrackRows& thread : process) append_host_rows(thread.rows);
    auto const devices = static_cast<int32_t>(pick(1, 3));
    append_memory(process, devices);

    // A process has at most one sample a window or at least one: "the last known" is one value.
    int64_t const apart = shortest >= 60 && pick(0, 1) == 0 ? 30 : 250;
    process.push_back({counter_track("power (W)", -1), samples(apart)});
    for (int32_t device = 0; device < devices; ++device) {
      process.push_back({counter_track("power (W)", device), samples(apart)});
      process.push_back({counter_track("GPU utilization (%)", device), samples(apart)});
      for (int64_t left = pick(1, 3); left > 0; --left)
        process.push_back({stream_track(device), ops()});
    }

    std::shuffle(process.begin(), process.end(), random_);
    return process;
  }

 private:
  int64_t pick(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random_() % static_cast<uint64_t>(most - least + 1));
  }

  std::vector<SlotRow> steps(int64_t shortest, int64_t longest) {
    int64_t const first = pick(0, 1000);
    last_end_ = pick(5, 40);
    window_bounds_ = {last_end_};
    std::vector<SlotRow> rows;

    for (int64_t i = 0; i < 12; ++i) {
      int64_t const begin = last_end_ + (i > 0 && pick(0, 2) == 0 ? pick(1, 40) : 0);
      last_end_ = begin + pick(shortest, longest);
      window_bounds_.push_back(last_end_);
      rows.push_back({EventKind::kStep, begin, last_end_, first + i});
    }
    return rows;
  }

  /// Waits for input among rows that must not count.
  void append_host_rows(std::vector<SlotRow>& rows) {
    constexpr std::array kKinds = {EventKind::kInputWait, EventKind::kInputWait,
                                   EventKind::kCollectiveCall, EventKind::kLaunch};
    for (int64_t begin = pick(0, 50); begin < last_end_; begin += pick(50, 120))
      rows.push_back({kKinds[static_cast<size_t>(pick(0, 3))], begin, begin + pick(1, 50), 77});
  }

  /// Calls that count for a device lie within one window, others anywhere. No two overlap.
  void append_memory(SlotProcess& threads, int32_t devices) {
    for (int64_t begin = pick(0, 20); begin < last_end_; begin += pick(4, 40)) {
      int64_t const end = begin + pick(0, 3);
      model::MemoryDetail call{.allocated_bytes = static_cast<uint64_t>(pick(0, 1000))};
      call.reserved_bytes = static_cast<uint64_t>(std::max<int64_t>(pick(-2000, 5000), 0));
      call.device = static_cast<int32_t>(pick(0, devices - 1));

      bool const is_within = std::ranges::none_of(
          window_bounds_, [&](int64_t bound) { return begin <= bound && bound <= end; });
      bool const is_pinned = pick(0, 1) == 0;
      if (!is_within || pick(0, 4) == 0) {
        call.allocated_bytes = call.reserved_bytes = 99999;
        if (is_pinned) call.memory = model::MemoryKind::kPinned;
        if (!is_pinned) call.device = -1;
      }
      std::vector<SlotRow>& rows = threads[static_cast<size_t>(pick(0, 1))].rows;
      rows.push_back({.kind = EventKind::kMemory, .begin = begin, .end = end, .memory = call});
    }
  }

  std::vector<SlotRow> ops() {
    constexpr std::array kKinds = {EventKind::kKernel,     EventKind::kMemset,
                                   EventKind::kMemcpy,     EventKind::kMemcpy,
                                   EventKind::kCollective, EventKind::kStreamWait};
    std::vector<SlotRow> rows;
    int64_t begin = pick(0, 3);

    while (begin < last_end_ + 50) {
      int64_t const end = begin + pick(1, 40);
      auto const direction = static_cast<model::CopyDirection>(pick(0, 5));
      EventKind const kind = kKinds[static_cast<size_t>(pick(0, 5))];
      rows.push_back({kind, begin, end, pick(1, 1000), direction});
      begin = end + (pick(0, 3) == 0 ? 0 : pick(1, 80));
    }
    return rows;
  }

  /// Multiples of 63 W: the mean of up to 10 of them is a whole number of mW.
  std::vector<SlotRow> samples(int64_t apart) {
    std::vector<SlotRow> rows;
    for (int64_t at = pick(0, 300); at < last_end_; at += pick(apart, 2 * apart))
      rows.push_back({EventKind::kSample, at, at, 63 * pick(0, 10)});
    return rows;
  }

  std::mt19937_64 random_;
  int64_t last_end_ = 0;
  std::vector<int64_t> window_bounds_;
};

void compare_meter_with_twin(int64_t shortest, int64_t longest, bool is_in_pieces) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SlotProcess const process = RandomProcess(seed).make(shortest, longest);
    expect_alike(is_in_pieces ? records_in_pieces(process, seed) : records_at_once(process),
                 twin_records(process));
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(StepMeter, AgreesWithATwin) { compare_meter_with_twin(60, 200, false); }
TEST(StepMeter, AgreesWithATwinInPieces) { compare_meter_with_twin(60, 200, true); }
TEST(StepMeter, AgreesWithATwinOnShortSteps) { compare_meter_with_twin(5, 30, false); }
TEST(StepMeter, AgreesWithATwinOnShortStepsInPieces) { compare_meter_with_twin(5, 30, true); }

TEST(StepMeter, TakesAStepOnceItsEndHasSettled) {
  StepMeter meter;
  feed_slots(meter, {{thread_track(), step_rows(2, 100)}});
  EXPECT_TRUE(meter.take(100 * kSlotNs - 1).empty());
  EXPECT_EQ(meter.take(100 * kSlotNs).size(), 1U);
  EXPECT_TRUE(meter.take(100 * kSlotNs).empty());
  EXPECT_EQ(meter.take_rest().size(), 1U);
}

/// Number of the first step, count of steps.
using StepNumbers = std::vector<std::pair<int64_t, uint32_t>>;
StepNumbers numbers_of(std::vector<StepRecord> const& records) {
  StepNumbers numbers;
  for (StepRecord const& record : records) numbers.emplace_back(record.step, record.steps);
  return numbers;
}

TEST(StepMeter, ShortStepsShareARecord) {
  SlotProcess process = {{thread_track(), step_rows(20, 7)}, {stream_track(0), {}}};
  for (int64_t i = 0; i < 20; ++i)
    process[1].rows.push_back({EventKind::kKernel, 7 * i + 2, 7 * i + 5});
  StepMeter meter;
  feed_slots(meter, process);

  std::vector<StepRecord> const records = meter.take(140 * kSlotNs);
  ASSERT_EQ(numbers_of(records), (StepNumbers{{0, 8}, {8, 8}}));
  EXPECT_EQ(records[1].length_ns, 56 * kSlotNs);
  EXPECT_EQ(records[1].longest_ns, 7 * kSlotNs);
  EXPECT_EQ(records[1].part(TimePart::kCompute), 24 * kSlotNs);
  EXPECT_EQ(records[1].kernels, 8U);
  EXPECT_EQ(numbers_of(meter.take_rest()), (StepNumbers{{16, 4}}));
}

TEST(StepMeter, AJumpInNumbersStartsARecord) {
  std::vector<SlotRow> steps = step_rows(20, 7);
  for (size_t i = 10; i < 20; ++i) steps[i].value += 10;
  EXPECT_EQ(numbers_of(records_at_once({{thread_track(), steps}})),
            (StepNumbers{{0, 8}, {8, 2}, {20, 4}, {24, 6}}));
}

TEST(StepMeter, WorkOfATakenStepIsLate) {
  StepMeter meter;
  feed_slots(meter, {{thread_track(), {{EventKind::kStep, 0, 100, 0}}},
                     {stream_track(0), {{EventKind::kKernel, 10, 20}}}});
  EXPECT_EQ(meter.take(100 * kSlotNs).at(0).part(TimePart::kCompute), 10 * kSlotNs);

  feed_slots(meter,
             {{thread_track(), {{EventKind::kStep, 100, 200, 1}, {EventKind::kStep, 200, 300, 2}}},
              {stream_track(0), {{EventKind::kKernel, 30, 40}, {EventKind::kKernel, 80, 130}}}});
  std::vector<StepRecord> const rest = meter.take_rest();
  EXPECT_EQ(rest.at(0).late_ns, 30 * kSlotNs);
  EXPECT_EQ(rest.at(0).part(TimePart::kCompute), 30 * kSlotNs);
  EXPECT_EQ(rest.at(1).late_ns, 0);
}

TEST(StepMeter, StepsOfTwoThreadsCountOnceAndTheWaitsOfBoth) {
  SlotProcess process = {{thread_track(), step_rows(10, 100)},
                         {thread_track(), step_rows(10, 100, 1)}};
  process[0].rows.push_back({EventKind::kInputWait, 20, 40});
  process[1].rows.push_back({EventKind::kInputWait, 30, 50});

  std::vector<StepRecord> const records = records_at_once(process);
  ASSERT_EQ(records.size(), 10U);
  EXPECT_EQ(records[0].input_ns, 30 * kSlotNs);
  expect_alike(records, twin_records(process));
  expect_alike(records_in_pieces(process, 1), records);
}

TEST(StepMeter, AThreadWithClearlyLongerStepsTakesTheLead) {
  SlotProcess process = {{thread_track(), step_rows(50, 60)}, {thread_track(), {}}};
  for (int64_t i = 0; i < 6; ++i)
    process[1].rows.push_back({EventKind::kStep, 1010 + 300 * i, 1250 + 300 * i, 100 + 10 * i});
  StepMeter meter;
  for (int64_t now = 0; now <= kLastSlot; ++now) feed_slots(meter, process, now - 1, now);

  std::vector<StepRecord> const records = meter.take_rest();
  ASSERT_GE(records.size(), 3U);
  EXPECT_EQ(numbers_of({records.end() - 3, records.end()}),
            (StepNumbers{{130, 1}, {140, 1}, {150, 1}}));
  EXPECT_EQ(records.back().end_ns(), 2750 * kSlotNs);

  // No time is lost or counted twice where the lead changes.
  EXPECT_EQ(records.front().begin_ns, 0);
  for (size_t i = 1; i < records.size(); ++i)
    EXPECT_EQ(records[i].begin_ns, records[i - 1].end_ns());
}

TEST(StepMeter, TimeBetweenStepsBelongsToTheLaterOne) {
  std::vector<StepRecord> const records = records_at_once(
      {{thread_track(), {{EventKind::kStep, 10, 110, 0}, {EventKind::kStep, 140, 240, 1}}}});
  EXPECT_EQ(records.at(0).between_ns, 0);
  EXPECT_EQ(records.at(1).between_ns, 30 * kSlotNs);
  EXPECT_EQ(records.at(1).length_ns, 130 * kSlotNs);
}

TEST(StepMeter, OpsWithoutLengthAreCountedWhereTheyBegin) {
  std::vector<StepRecord> const records = records_at_once(
      {{thread_track(), step_rows(2, 100)},
       {stream_track(0), {{EventKind::kKernel, 50, 50}, {EventKind::kKernel, 100, 100}}}});
  EXPECT_EQ(records.at(0).kernels, 1U);
  EXPECT_EQ(records.at(1).kernels, 1U);
}

TEST(StepMeter, AProcessWithoutDevicesHasOneRecordAStep) {
  SlotProcess process = {{thread_track(), step_rows(2, 100)},
                         {thread_track(), {{EventKind::kMemory, 60, 70}}}};
  process[0].rows.push_back({EventKind::kInputWait, 20, 50});
  process[0].rows.push_back({EventKind::kMemory, 40, 60});

  std::vector<StepRecord> const records = records_at_once(process);
  EXPECT_EQ(records.at(0).device, -1);
  EXPECT_EQ(records.at(0).part(TimePart::kAllocation), 20 * kSlotNs);
  expect_alike(records, twin_records(process));
}

}  // namespace
}  // namespace stepscope::stream
