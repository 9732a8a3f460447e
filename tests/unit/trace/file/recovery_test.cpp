// Files that were cut, damaged or never finished open with what is intact, and say what is missing.
#include <algorithm>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <csignal>

#include "tests/support/sanitized.h"
#include "tests/unit/trace/file/sample_trace.h"
#include "trace/base/files/mapped_file.h"
#include "trace/file/codec/compression.h"
#include "trace/file/format.h"
#include "trace/file/index.h"
#include "trace/file/reader.h"
#include "trace/file/summaries.h"
#include "trace/file/trace_file.h"
#include "trace/file/writer.h"

namespace stepscope::file {
namespace {

std::string bytes_of_sample() {
  TemporaryFile const file;
  EXPECT_TRUE(write_trace(sample_trace(3, 4, 500), file.path()));
  std::stringstream bytes;
  bytes << std::ifstream(file.path(), std::ios::binary).rdbuf();
  return bytes.str();
}

/// A file in which nothing is yet.
base::ByteWriter only_a_header() {
  std::string const sample = bytes_of_sample();
  base::ByteWriter bytes;
  bytes.put_bytes(std::as_bytes(std::span(sample)).first(kFileHeaderSize));
  return bytes;
}

base::Expected<model::Trace> read(std::string const& bytes) {
  return read_trace(std::as_bytes(std::span(bytes)), "test");
}

TEST(Recovery, AFileCutAnywhereOpensOrSaysWhyAndNeverHoldsMoreThanBefore) {
  std::string const whole = bytes_of_sample();
  uint32_t const all = read(whole)->event_count();
  uint32_t previous = 0;

  for (size_t size = 0; size < whole.size(); size += 61) {
    auto const trace = read(whole.substr(0, size));
    if (size < kFileHeaderSize) {
      EXPECT_FALSE(trace) << size;
      continue;
    }

    ASSERT_TRUE(trace) << size << ": " << trace.error().message;
    EXPECT_TRUE(trace->log().truncated || trace->event_count() == all) << size;
    EXPECT_GE(trace->event_count(), previous) << size;
    EXPECT_LE(trace->event_count(), all);
    previous = trace->event_count();
  }

  EXPECT_EQ(previous, all);  // only the index was missing
}

TEST(Recovery, OneFlippedByteLosesAtMostTheBlockItIsIn) {
  std::string const whole = bytes_of_sample();
  uint32_t const all = read(whole)->event_count();

  for (size_t at = kFileHeaderSize; at < whole.size(); at += 97) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    auto const trace = read(damaged);
    ASSERT_TRUE(trace) << at;
    // Four tracks of 500 events are four blocks.

    EXPECT_GE(trace->event_count() + 500, all) << at;
    bool const is_reported = trace->log().lost_blocks > 0 || trace->log().truncated;
    EXPECT_TRUE(is_reported || trace->event_count() == all) << at;
  }
}

/// A file as recorded, then given its summaries.
class AppendedFile : public ::testing::Test {
 protected:
  void SetUp() override {
    model::Trace const trace = sample_trace(5, 4, 500);

    {
      auto writer = TraceWriter::create(file_.path());
      ASSERT_TRUE(writer);

      std::vector<std::string_view> texts;
      for (uint32_t id = 1; id < trace.strings().size(); ++id)
        texts.push_back(trace.strings().text(model::StringId{id}));
      ASSERT_TRUE(writer->write_strings(1, texts));
      ASSERT_TRUE(writer->write_description(trace.info(), trace.devices(), {}));
      ASSERT_TRUE(writer->write_tracks(model::TrackId{0}, trace.tracks()));

      for (uint32_t track = 0; track < 4; ++track)
        ASSERT_TRUE(writer->write_sorted_events(model::TrackId{track},
                                                trace.events_of(model::TrackId{track})));

      ASSERT_TRUE(writer->finish());
      recorded_bytes_ = writer->bytes_written();
    }

    ASSERT_TRUE(add_summaries(file_.path()));

    std::stringstream bytes;
    bytes << std::ifstream(file_.path(), std::ios::binary).rdbuf();
    whole_ = bytes.str();
    events_ = trace.event_count();
  }
  static base::Expected<TraceFile> open(std::string const& bytes) {
    return TraceFile::open(std::as_bytes(std::span(bytes)), "test");
  }

  TemporaryFile file_;
  uint64_t recorded_bytes_ = 0;
  std::string whole_;
  uint64_t events_ = 0;
};

TEST_F(AppendedFile, CutBehindWhatWasRecordedHasLostNothingRecordedAndSaysWhereItIsCut) {
  ASSERT_GT(whole_.size(), recorded_bytes_ + 500);

  for (size_t size = recorded_bytes_; size < whole_.size(); size += support::kSanitized ? 7 : 1) {
    std::string const cut = whole_.substr(0, size);
    auto const file = open(cut);
    ASSERT_TRUE(file);

    ASSERT_TRUE(file->is_finished()) << size;
    ASSERT_EQ(file->event_count(), events_) << size;

    auto const trace = file->read();
    ASSERT_TRUE(trace && !trace->log().truncated && trace->log().lost_blocks == 0) << size;

    for (DamagedPlace const& place : file->find_damage()) {
      EXPECT_TRUE(place.is_derived && place.is_end) << size;
      EXPECT_GE(place.offset, recorded_bytes_) << size;
    }
  }
}

TEST_F(AppendedFile, CutInItsLastBytesIsNotCalledWhole) {
  for (size_t missing = 1; missing <= kEndSize + 1; ++missing) {
    std::string const cut = whole_.substr(0, whole_.size() - missing);
    EXPECT_FALSE(open(cut)->find_damage().empty()) << missing;
  }
}

TEST_F(AppendedFile, EveryChangedByteIsFound) {
  ASSERT_TRUE(open(whole_)->find_damage().empty());
  // The version is looked at when the file is opened.
  for (size_t at = kFileMagic.size() + sizeof kFormatVersion; at < whole_.size();
       at += (at < recorded_bytes_ ? 13 : 3) * (support::kSanitized ? 7 : 1)) {
    std::string damaged = whole_;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);

    auto const file = open(damaged);
    ASSERT_TRUE(file) << at;
    auto const damage = file->find_damage();
    bool const found = std::any_of(damage.begin(), damage.end(), [at](DamagedPlace const& place) {
      return place.offset <= at && at < place.offset + place.bytes;
    });
    EXPECT_TRUE(found) << at;
  }
}

TEST(Recovery, NoFileCostsMoreMemoryThanItsSizeAllows) {
  std::vector<std::byte> const zeros(kMaxPayloadBytes);
  base::ByteWriter frame;
  ASSERT_GT(Compressor().compress(zeros, frame), 0U);

  BlockHeader header;
  header.type = static_cast<uint16_t>(BlockType::kStrings);
  header.compressed = 1;
  header.raw_size = kMaxPayloadBytes;
  header.stored_size = static_cast<uint32_t>(frame.size());

  base::ByteWriter bytes = only_a_header();
  constexpr int kBombs = 40;  // of 64 MB each
  for (int i = 0; i < kBombs; ++i) {
    bytes.put_bytes(encode_block_header(header, frame.span()).span());
    bytes.put_bytes(frame.span());
  }

  auto const file = TraceFile::open(bytes.span(), "test");
  ASSERT_TRUE(file);
  EXPECT_GE(file->find_damage().size(), 36U) << "four fit into 256 MB";
}

TEST(Recovery, IdsOfNamesThatNoBlockGivesAreBounded) {
  base::ByteWriter bytes = only_a_header();
  BlockHeader header;
  header.type = static_cast<uint16_t>(BlockType::kStrings);
  header.raw_size = header.stored_size = 3 * sizeof(uint32_t);

  for (uint32_t i = 1; i <= 40; ++i) {
    base::ByteWriter payload;
    payload.put(i << 22);  // 4 M further each time
    payload.put(uint32_t{1});
    payload.put(uint32_t{0});
    bytes.put_bytes(encode_block_header(header, payload.span()).span());
    bytes.put_bytes(payload.span());
  }

  auto const file = TraceFile::open(bytes.span(), "test");
  ASSERT_TRUE(file);
  EXPECT_LE(file->texts().size(), 1U << 23);
  EXPECT_GE(file->find_damage().size(), 38U);
}

TEST(Recovery, AWalkTakesTimeThatGrowsWithTheFileWhateverItClaims) {
  // Each block claims the rest of the file, which is up to 200,000 times 64 bytes. A walk that
  // believed them would read 1.3 TB.
  constexpr int kBlocks = 200'000;

  base::ByteWriter bytes = only_a_header();
  for (int i = 0; i < kBlocks; ++i) {
    BlockHeader header;
    header.type = static_cast<uint16_t>(BlockType::kEvents);
    header.raw_size = header.stored_size =
        static_cast<uint32_t>((kBlocks - i - 1) * kBlockHeaderSize);
    bytes.put_bytes(encode_block_header(header, {}).span());
  }

  auto const file = TraceFile::open(bytes.span(), "test");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->find_damage().size(), 1U);
}

TEST(Recovery, AnIndexThatNamesABlockTwiceIsNotBelieved) {
  std::string const sample = bytes_of_sample();
  auto const sound = TraceFile::open(std::as_bytes(std::span(sample)), "test");
  std::vector<IndexEntry> entries(sound->blocks().begin(), sound->blocks().end());
  entries.insert(entries.end(), 1000, entries.back());
  base::ByteWriter payload;
  ColumnEncoder columns;
  encode_index(entries, columns, payload);
  EXPECT_FALSE(decode_index(payload.span(), static_cast<uint32_t>(entries.size()), sample.size()));
}

TEST(Recovery, AnUnfinishedFileKeepsEveryWrittenBlock) {
  TemporaryFile const file;
  {
    auto writer = TraceWriter::create(file.path());
    ASSERT_TRUE(writer);
    std::string_view const name = "kernel";
    ASSERT_TRUE(writer->write_strings(1, {&name, 1}));
    model::Track const track{.name = "stream"};
    ASSERT_TRUE(writer->write_description({.tool = "t"}, {}, {}));
    ASSERT_TRUE(writer->write_tracks(model::TrackId{0}, {&track, 1}));

    model::EventBatch batch;
    batch.add(model::EventKind::kRange, 5, 6, model::StringId{1});
    ASSERT_TRUE(writer->write_events(model::TrackId{0}, batch));
  }  // killed here: no finish()

  auto const trace = read_trace_file(file.path());
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->event_count(), 1U);
  EXPECT_EQ(trace->name(0), "kernel");
  EXPECT_TRUE(trace->log().truncated);
  EXPECT_EQ(trace->log().lost_blocks, 0U);
}

TEST(Recovery, AWriteThatFailsLeavesAReadableFileAndStaysFailed) {
  TemporaryFile const file;

  auto writer = TraceWriter::create(file.path());
  ASSERT_TRUE(writer);

  model::Track const track{.name = "stream"};
  ASSERT_TRUE(writer->write_description({}, {}, {}));
  ASSERT_TRUE(writer->write_tracks(model::TrackId{0}, {&track, 1}));

  std::mt19937_64 random(5);
  model::EventBatch batch;
  for (int i = 0; i < 2000; ++i)
    batch.add(model::EventKind::kRange, static_cast<int64_t>(random() >> 8), 1, model::StringId{0},
              random());
  ASSERT_TRUE(writer->write_events(model::TrackId{0}, batch));

  // A file that may not grow past the next half block behaves as a full disk does.
  auto* const old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  rlimit const limit{writer->bytes_written() + 5000, old_limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);

  auto const failed = writer->write_events(model::TrackId{0}, batch);
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);

  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("free disk space"), std::string::npos);
  EXPECT_FALSE(writer->write_events(model::TrackId{0}, batch));

  auto const trace = read_trace_file(file.path());
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->event_count(), 2000U);
  EXPECT_EQ(trace->log().lost_blocks, 0U);
}

TEST(Recovery, OtherFilesAreRefusedWithAnErrorThatSaysWhatToDo) {
  EXPECT_FALSE(read(""));
  EXPECT_FALSE(read("{\"traceEvents\": []}"));
  std::string newer = bytes_of_sample();
  newer[8] = 99;  // format version
  auto const trace = read(newer);
  ASSERT_FALSE(trace);
  EXPECT_NE(trace.error().message.find("update stepscope"), std::string::npos);
}

TEST(Recovery, AHeaderThatClaimsGigabytesCostsNoMemory) {
  BlockHeader header;
  header.type = static_cast<uint16_t>(BlockType::kStrings);
  header.compressed = 1;
  header.raw_size = kMaxPayloadBytes;
  header.stored_size = 4;

  std::string bytes = bytes_of_sample().substr(0, kFileHeaderSize);
  std::string const payload = "xxxx";
  auto const block = encode_block_header(header, std::as_bytes(std::span(payload)));
  bytes.append(reinterpret_cast<char const*>(block.span().data()), block.size());
  bytes += payload;

  auto const trace = read(bytes);
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->log().lost_blocks, 1U);
}

}  // namespace
}  // namespace stepscope::file
