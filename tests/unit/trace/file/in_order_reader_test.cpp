// Blocks that are decoded where they stay give the trace that TraceBuilder makes of batches: on
// files in order, on those that are not, and on damaged ones.
#include "trace/file/in_order_reader.h"

#include <fstream>
#include <limits>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/unit/trace/file/sample_trace.h"
#include "trace/file/format.h"
#include "trace/file/trace_file.h"
#include "trace/file/writer.h"

namespace stepscope::file {
namespace {

using model::EventKind;

/// What is not as a recorder leaves it.
enum class Fault : uint8_t {
  kNone,
  kBlocksOutOfOrder,
  kRowsOverlapBlocks,
  kNegativeDurations,
  kImpossibleTimes,
  kCalls,
  kUnknownNames,
  kAll
};

bool has(Fault all, Fault one) { return all == one || all == Fault::kAll; }

/// Files as recorders write them: blocks of all tracks mixed, each track's by time.
class RecordedFile {
 public:
  RecordedFile(uint64_t seed, Fault fault) : random_(seed), fault_(fault) {
    auto writer = TraceWriter::create(file_.path());
    EXPECT_TRUE(writer);

    std::vector<std::string_view> const texts = {"launch", "kernel", "ncclDevKernel_AllReduce",
                                                 "other"};
    EXPECT_TRUE(writer->write_strings(1, texts));
    model::Device const device{.id = 0, .name = "d"};
    EXPECT_TRUE(writer->write_description({.tool = "t", .rank = 1}, {&device, 1}, {}));

    std::vector<model::Track> tracks;
    size_t const count = 1 + random_() % 5;
    for (size_t t = 0; t < count; ++t)
      tracks.push_back({.kind = t % 2 == 0 ? model::TrackKind::kThread : model::TrackKind::kStream,
                        .name = "track",
                        .device = t % 2 == 0 ? -1 : 0,
                        .dropped = t});
    EXPECT_TRUE(writer->write_tracks(model::TrackId{0}, tracks));

    std::vector<int64_t> now(count, 0);
    for (size_t block = 0; block < 3 * count; ++block) {
      size_t const track = random_() % count;
      model::EventBatch const batch = next_batch(now[track]);
      if (!batch.empty()) {
        EXPECT_TRUE(writer->write_events(model::TrackId{static_cast<uint32_t>(track)}, batch));
      }
    }

    EXPECT_TRUE(writer->finish());
    std::stringstream content;
    content << std::ifstream(file_.path(), std::ios::binary).rdbuf();
    bytes_ = content.str();
  }
  [[nodiscard]] std::string const& bytes() const { return bytes_; }

 private:
  model::EventBatch next_batch(int64_t& now) {
    now += 1;  // of events that begin at once the longest comes first, which two blocks would not
               // know of each other
    if (has(fault_, Fault::kBlocksOutOfOrder) && random_() % 3 == 0)
      now -= static_cast<int64_t>(random_() % 5000);
    if (has(fault_, Fault::kRowsOverlapBlocks) && random_() % 3 == 0) now -= 150;

    model::EventBatch batch;
    size_t const rows = random_() % 60;
    for (size_t row = 0; row < rows; ++row) {
      auto kind = static_cast<EventKind>(random_() % model::kKindCount);
      if (kind == EventKind::kCollectiveCall && !has(fault_, Fault::kCalls))
        kind = EventKind::kLaunch;

      int64_t start = now, dur = static_cast<int64_t>(random_() % 300);
      if (has(fault_, Fault::kNegativeDurations) && random_() % 20 == 0) dur = -dur;
      if (has(fault_, Fault::kImpossibleTimes) && random_() % 40 == 0) start += model::kMaxTime;
      if (has(fault_, Fault::kImpossibleTimes) && random_() % 40 == 0)
        dur = std::numeric_limits<int64_t>::max();

      uint32_t const names = has(fault_, Fault::kUnknownNames) ? 9 : 5;
      model::StringId const name{static_cast<uint32_t>(random_() % names)};
      add_random(batch, kind, start, dur, name, random_() % 30, random_);
      now += static_cast<int64_t>(random_() % 200);
    }

    return batch;
  }

  std::mt19937_64 random_;
  Fault fault_;
  TemporaryFile const file_;
  std::string bytes_;
};

base::ByteSpan span_of(std::string const& bytes) { return std::as_bytes(std::span(bytes)); }

/// All that is, by another way: no window that has limits is read in place.
constexpr TimeWindow kAllThroughBatches{INT64_MIN + 1, INT64_MAX};

std::string log_of(model::Trace const& trace) {
  model::ImportLog const& log = trace.log();
  std::string text =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {}", log.dropped, log.negative_durations,
                  log.unmatched_launches, log.doubled_launches, log.unmatched_ops,
                  log.negative_latencies, log.overlapping_slices, log.impossible_times,
                  log.unknown_events, log.lost_blocks, log.truncated);
  for (std::string const& note : log.notes) text += "\n" + note;
  return text;
}

void expect_same(std::string const& bytes) {
  auto const file = TraceFile::open(span_of(bytes), "test");
  if (!file) return;
  for (ColumnSelection const& columns :
       {ColumnSelection{}, ColumnSelection{.name = false, .correlation = false, .tables = 1},
        ColumnSelection{.depth = false, .tables = 0b1100}}) {
    auto const in_place = file->read({.columns = columns}),
               batches = file->read({.window = kAllThroughBatches, .columns = columns});
    ASSERT_TRUE(in_place && batches);

    EXPECT_EQ(rows_of(*in_place), rows_of(*batches));
    EXPECT_EQ(log_of(*in_place), log_of(*batches));
    EXPECT_EQ(in_place->time_range(), batches->time_range());
    EXPECT_EQ(in_place->info().tool, batches->info().tool);
    EXPECT_EQ(in_place->devices().size(), batches->devices().size());
    EXPECT_EQ(in_place->tracks().size(), batches->tracks().size());

    for (uint32_t track = 0; track < in_place->tracks().size(); ++track)
      EXPECT_EQ(in_place->rows_of(model::TrackId{track}).last,
                batches->rows_of(model::TrackId{track}).last);
  }
}

/// Whether the blocks are decoded where they stay.
bool is_read_in_order(std::string const& bytes) {
  auto const file = TraceFile::open(span_of(bytes), "test");
  EXPECT_TRUE(file);
  std::vector<IndexEntry> blocks;
  for (IndexEntry const& entry : file->blocks())
    if (entry.header.type == static_cast<uint16_t>(BlockType::kEvents)) blocks.push_back(entry);
  model::TraceBuilder builder;
  for (model::Track const& track : file->tracks()) builder.add_track(track);
  std::vector<model::StringId> const ids(file->texts().size(), model::StringId{0});
  return read_in_order({span_of(bytes), blocks, current_columns(), {}, ids}, builder).has_value();
}

TEST(InOrderReader, WhatRecordersWriteIsDecodedWhereItStays) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    RecordedFile const file(seed, Fault::kNone);
    EXPECT_TRUE(is_read_in_order(file.bytes())) << seed;
    expect_same(file.bytes());
  }
}

TEST(InOrderReader, NamesThatAreNotKnownAreCountedAlike) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    RecordedFile const file(seed, Fault::kUnknownNames);
    EXPECT_TRUE(is_read_in_order(file.bytes())) << seed;
    expect_same(file.bytes());
  }
}

TEST(InOrderReader, WhatIsNotAsExpectedIsReadAsBefore) {
  for (Fault const fault :
       {Fault::kBlocksOutOfOrder, Fault::kRowsOverlapBlocks, Fault::kNegativeDurations,
        Fault::kImpossibleTimes, Fault::kCalls, Fault::kAll}) {
    int not_in_order = 0;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      RecordedFile const file(seed, fault);
      not_in_order += is_read_in_order(file.bytes()) ? 0 : 1;
      expect_same(file.bytes());
    }

    EXPECT_GT(not_in_order, 0) << static_cast<int>(fault);
  }
}

TEST(InOrderReader, DamagedFilesAreReadAlikeBothWays) {
  for (Fault const fault : {Fault::kNone, Fault::kAll}) {
    std::string const whole = RecordedFile(3, fault).bytes();
    for (size_t at = kFileHeaderSize; at < whole.size(); at += 401) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x11);
      expect_same(damaged);
      expect_same(whole.substr(0, at));
    }
  }
}

TEST(InOrderReader, TracksLongerThanABlockAreJoined) {
  model::TraceBuilder builder;
  model::TrackId const thread = builder.add_track({}),
                       stream = builder.add_track({.kind = model::TrackKind::kStream, .device = 0});

  std::mt19937_64 random(5);
  for (int64_t i = 0; i < static_cast<int64_t>(kMaxBlockRows) + 1000; ++i) {
    auto const id = static_cast<uint64_t>(i) + 1;
    builder.events(thread).add(EventKind::kLaunch, 100 * i, 50, builder.intern("launch"), id);
    add_random(builder.events(stream), random() % 2 == 0 ? EventKind::kKernel : EventKind::kMemcpy,
               100 * i + 20, 90, builder.intern("k"), id, random);
  }

  model::Trace const trace = std::move(builder).finish();
  TemporaryFile const file;
  ASSERT_TRUE(write_trace(trace, file.path()));

  auto const opened = TraceFile::open(file.path());
  ASSERT_TRUE(opened);
  auto const read = opened->read();
  ASSERT_TRUE(read);

  EXPECT_EQ(rows_of(*read), rows_of(trace));
}

/// A trace of kernels and copies, whole and read from a file of it.
bool may_have_graphs(uint32_t of_kernels, uint32_t of_last_copy) {
  model::TraceBuilder builder;
  model::TrackId const stream = builder.add_track({.kind = model::TrackKind::kStream, .device = 0});
  model::StringId const name = builder.intern("op");

  constexpr int64_t kOps = static_cast<int64_t>(kMaxBlockRows) + 10;
  for (int64_t i = 0; i < kOps; ++i) {
    if (i % 2 == 0)
      builder.events(stream).add(EventKind::kKernel, 10 * i, 5, name, 0,
                                 model::KernelDetail{.graph = of_kernels});
    else
      builder.events(stream).add(EventKind::kMemcpy, 10 * i, 5, name, 0,
                                 model::CopyDetail{.graph = i + 1 == kOps ? of_last_copy : 0});
  }

  TemporaryFile const file;
  EXPECT_TRUE(write_trace(std::move(builder).finish(), file.path()));

  auto const opened = TraceFile::open(file.path());
  EXPECT_TRUE(opened);
  return opened->read()->may_have_graphs();
}

TEST(InOrderReader, SaysWhetherAnyOpIsOfACudaGraph) {
  EXPECT_FALSE(may_have_graphs(0, 0));
  EXPECT_TRUE(may_have_graphs(3, 0));
  EXPECT_TRUE(may_have_graphs(0, 3));  // one row of the last block
}

}  // namespace
}  // namespace stepscope::file
