// Files of the stream: what was written is read, also while it grows, and what is damaged is left
// out.
#include "trace/stream/stream_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "trace/import/formats/step_stream/step_stream_importer.h"

namespace stepscope::stream {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

StepRecord record_of_step(int64_t step) {
  StepRecord record;
  record.step = step;
  record.begin_ns = 1'000 + step * 100'000'000;
  record.length_ns = record.longest_ns = 100'000'000;
  record.between_ns = 2'000'000;
  record.device = 1;

  record.parts = {60'000'000, 20'000'000, 5'000'000, 10'000'000, 1'000'000, 4'000'000};
  record.comm_ns = 50'000'000;
  record.input_ns = 12'000'000;
  record.comm_bytes = 1 << 20;
  record.copied_in_bytes = 77;
  record.collectives = 4;
  record.kernels = 321;
  record.peak_bytes = 5'000;
  record.reserved_bytes = 6'000;
  record.power_mw = 650'500;
  record.dropped = 3;
  record.late_ns = 9;
  return record;
}

model::TraceInfo info_of_rank() {
  model::TraceInfo info;
  info.tool = "stepscope test";
  info.host = "node-7";
  info.command = "python3 train.py";
  info.process_id = 4711;
  info.rank = 3;
  info.world_size = 8;
  info.origin_epoch_ns = 1'700'000'000'000'000'000;
  return info;
}

std::vector<std::byte> file_of_steps(int64_t steps) {
  std::vector<std::byte> bytes = encode_header(info_of_rank());
  for (int64_t step = 0; step < steps; ++step) encode(record_of_step(step), bytes);
  return bytes;
}

class StreamOnDisk : public ::testing::Test {
 protected:
  StreamOnDisk() : path(::testing::TempDir() + "/stream-" + std::to_string(::getpid()) + ".steps") {
    fs::remove(path);
  }
  ~StreamOnDisk() override { fs::remove(path); }
  void append(base::ByteSpan bytes) const {
    std::ofstream(path, std::ios::binary | std::ios::app)
        .write(reinterpret_cast<char const*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  std::string path;
};

TEST(StreamFile, GivesBackWhatWasWritten) {
  std::vector<std::byte> bytes = encode_header(info_of_rank());
  size_t const head_bytes = bytes.size();
  model::Device device;
  device.id = 1;
  device.name = "NVIDIA H100 80GB HBM3";
  device.capacity_bytes = uint64_t{80} << 30;
  encode(device, bytes);
  encode(record_of_step(5), bytes);
  encode_end(bytes);

  auto const head = decode_header(bytes, "x.steps");
  ASSERT_TRUE(head.has_value()) << head.error().message;
  EXPECT_EQ(head->bytes, head_bytes);
  EXPECT_EQ(head->info.rank, 3);
  EXPECT_EQ(head->info.host, "node-7");
  EXPECT_EQ(head->info.origin_epoch_ns, 1'700'000'000'000'000'000);

  StreamRecords records;
  decode_records(base::ByteSpan(bytes).subspan(head->bytes), records);
  EXPECT_THAT(records.steps, ElementsAre(record_of_step(5)));
  ASSERT_THAT(records.devices, SizeIs(1));
  EXPECT_EQ(records.devices[0].name, device.name);
  EXPECT_EQ(records.devices[0].capacity_bytes, device.capacity_bytes);
  EXPECT_TRUE(records.has_ended);
  EXPECT_EQ(records.damaged, 0U);
}

TEST(StreamFile, TakesAtMostFourKibAStepOfSixteenDevices) {
  std::vector<std::byte> bytes;
  for (int32_t device = 0; device < 16; ++device) {
    StepRecord record = record_of_step(0);
    record.device = device;
    encode(record, bytes);
  }
  EXPECT_LE(bytes.size(), 4096U);
}

TEST(StreamFile, LeavesOutDamagedRecords) {
  std::vector<std::byte> bytes = file_of_steps(3);
  size_t const head_bytes = encode_header(info_of_rank()).size();
  bytes[head_bytes + kRecordBytes + 17] ^= std::byte{1};

  StreamRecords records;
  decode_records(base::ByteSpan(bytes).subspan(head_bytes), records);
  EXPECT_THAT(records.steps, ElementsAre(record_of_step(0), record_of_step(2)));
  EXPECT_EQ(records.damaged, 1U);
}

/// A record that was made up has a good checksum.
TEST(StreamFile, LeavesOutImpossibleNumbers) {
  auto const damaged = [](auto const& change) {
    StepRecord record = record_of_step(0);
    change(record);
    std::vector<std::byte> bytes;
    encode(record, bytes);
    StreamRecords records;
    decode_records(bytes, records);
    return records.damaged == 1 && records.steps.empty();
  };

  EXPECT_TRUE(damaged([](StepRecord& r) { r.steps = 0; }));
  EXPECT_TRUE(damaged([](StepRecord& r) { r.length_ns = -1; }));
  EXPECT_TRUE(damaged([](StepRecord& r) { r.parts[0] += 1; }));
  EXPECT_TRUE(damaged([](StepRecord& r) { r.begin_ns = INT64_MIN; }));
  EXPECT_TRUE(damaged([](StepRecord& r) { r.step = -1; }));
  EXPECT_TRUE(damaged([](StepRecord& r) { r.parts.fill(INT64_MAX / 2); }));
}

TEST(StreamFile, RefusesWhatItIsNot) {
  std::vector<std::byte> const whole = file_of_steps(0);
  auto const message = [](std::vector<std::byte> const& bytes) {
    auto const head = decode_header(bytes, "x.steps");
    return head ? std::string() : head.error().message;
  };

  EXPECT_THAT(message({}), HasSubstr("x.steps: not a stream"));
  EXPECT_THAT(message(std::vector<std::byte>(1000)), HasSubstr("not a stream"));
  EXPECT_THAT(message({whole.begin(), whole.begin() + 100}), HasSubstr("cut in its head"));

  std::vector<std::byte> newer = whole;
  newer[8] = std::byte{9};
  EXPECT_THAT(message(newer), HasSubstr("newer Stepscope (version 9"));
  std::vector<std::byte> damaged = whole;
  damaged[40] ^= std::byte{1};
  EXPECT_THAT(message(damaged), HasSubstr("its head is damaged"));
}

TEST(StreamFile, KeepsAHeadWhoseCommandLineIsTooLong) {
  model::TraceInfo info = info_of_rank();
  info.command.assign(2 * kMaxDescriptionBytes, 'x');
  auto const head = decode_header(encode_header(info), "x.steps");
  ASSERT_TRUE(head.has_value()) << head.error().message;
  EXPECT_EQ(head->info.rank, 3);
}

TEST_F(StreamOnDisk, IsReadWhileItGrows) {
  GrowingStream stream(path);
  EXPECT_FALSE(stream.read_new(10).has_value());
  append(file_of_steps(2));
  auto first = stream.read_new(10);
  ASSERT_TRUE(first.has_value()) << first.error().message;
  EXPECT_THAT(first->steps, ElementsAre(record_of_step(0), record_of_step(1)));
  EXPECT_THAT(stream.read_new(10)->steps, IsEmpty());

  // A record comes in two writes.
  std::vector<std::byte> bytes;
  encode(record_of_step(2), bytes);
  append(base::ByteSpan(bytes).first(100));
  EXPECT_THAT(stream.read_new(10)->steps, IsEmpty());
  append(base::ByteSpan(bytes).subspan(100));
  EXPECT_THAT(stream.read_new(10)->steps, ElementsAre(record_of_step(2)));
}

TEST_F(StreamOnDisk, BeginsWithTheLastRecords) {
  append(file_of_steps(1000));
  GrowingStream stream(path);
  auto const part = stream.read_new(3);
  ASSERT_TRUE(part.has_value());
  EXPECT_THAT(part->steps,
              ElementsAre(record_of_step(997), record_of_step(998), record_of_step(999)));
  EXPECT_EQ(stream.records(), 1000U);
}

TEST_F(StreamOnDisk, StartsAnewWhereAnotherFileIsInItsPlace) {
  append(file_of_steps(10));
  GrowingStream stream(path);
  EXPECT_THAT(stream.read_new(100)->steps, SizeIs(10));
  fs::remove(path);
  model::TraceInfo other = info_of_rank();
  other.process_id = 4712;
  std::vector<std::byte> bytes = encode_header(other);
  encode(record_of_step(0), bytes);
  append(bytes);

  auto const part = stream.read_new(100);
  EXPECT_TRUE(part->is_other_file);
  EXPECT_THAT(part->steps, ElementsAre(record_of_step(0)));
  EXPECT_EQ(stream.head()->info.process_id, 4712);
}

TEST(StreamImporter, MakesATraceWithTheSameParts) {
  std::vector<std::byte> const bytes = file_of_steps(4);
  auto const trace = import::read_step_stream(import::Input(bytes, "rank-3.steps"));
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  EXPECT_EQ(trace->info().rank, 3);

  int64_t compute = 0, communication = 0, copies = 0, waits = 0, steps = 0;
  for (uint32_t row = 0; row < trace->event_count(); ++row) {
    int64_t const ns = trace->columns().dur[row];
    switch (trace->kind(row)) {
      case model::EventKind::kKernel:
        compute += ns;
        break;
      case model::EventKind::kCollective:
        communication += ns;
        break;
      case model::EventKind::kMemcpy:
        copies += ns;
        break;
      case model::EventKind::kInputWait:
        waits += ns;
        break;
      case model::EventKind::kStep:
        ++steps;
        EXPECT_EQ(ns, 100'000'000);
        break;
      default:
        break;
    }
  }

  EXPECT_EQ(steps, 4);
  EXPECT_EQ(compute, 4 * 60'000'000);
  EXPECT_EQ(communication, 4 * 20'000'000);
  EXPECT_EQ(copies, 4 * 5'000'000);
  EXPECT_EQ(waits, 4 * 10'000'000);
  EXPECT_TRUE(trace->log().truncated);  // it says nothing of an end
}

/// Short steps share a record: each of them has its mean, not the first one everything.
TEST(StreamFile, GivesEachStepOfASharedRecordItsMean) {
  constexpr int64_t kSteps = 4;
  StepRecord shared = record_of_step(8);
  shared.steps = kSteps;
  std::vector<std::byte> bytes = encode_header(info_of_rank());
  encode(shared, bytes);
  auto const trace = import::read_step_stream(import::Input(bytes, "rank-3.steps"));
  ASSERT_TRUE(trace.has_value()) << trace.error().message;

  std::vector<std::pair<int64_t, int64_t>> steps;
  std::vector<std::pair<int64_t, model::EventKind>> parts;
  for (uint32_t row = 0; row < trace->event_count(); ++row) {
    model::EventKind const kind = trace->kind(row);
    int64_t const begin = trace->start(row), ns = trace->columns().dur[row];
    if (kind == model::EventKind::kStep) steps.emplace_back(begin, begin + ns);
    if (kind == model::EventKind::kKernel) {
      EXPECT_EQ(ns, 60'000'000 / kSteps);
    }
    if (kind == model::EventKind::kMemcpy) {
      EXPECT_EQ(ns, 5'000'000 / kSteps);
    }
    if (kind == model::EventKind::kInputWait) {
      EXPECT_EQ(ns, 10'000'000 / kSteps);
    }
    bool const is_part = model::is_device_op(kind) || kind == model::EventKind::kInputWait;
    if (is_part) parts.emplace_back(begin, kind);
  }

  ASSERT_THAT(steps, SizeIs(kSteps));
  std::sort(steps.begin(), steps.end());
  for (auto const& [begin, end] : steps) {
    std::vector<model::EventKind> within;
    for (auto const& [at, kind] : parts)
      if (begin <= at && at < end) within.push_back(kind);
    EXPECT_THAT(within, ::testing::UnorderedElementsAre(
                            model::EventKind::kInputWait, model::EventKind::kMemcpy,
                            model::EventKind::kKernel, model::EventKind::kCollective));
  }
}

}  // namespace
}  // namespace stepscope::stream
