// Files that were cut, damaged or never finished open with what is intact, and say what is missing.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <csignal>

#include "tests/unit/file/sample_trace.h"
#include "trace/base/mapped_file.h"
#include "trace/file/format.h"
#include "trace/file/reader.h"
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

base::Expected<model::Trace> read(std::string const& bytes) { return read_trace(std::as_bytes(std::span(bytes)), "test"); }

TEST(Recovery, AFileCutAnywhereOpensOrSaysWhyAndNeverHoldsMoreThanBefore) {
  std::string const whole = bytes_of_sample();
  uint32_t const all = read(whole)->event_count();
  uint32_t previous = 0;
  for (size_t size = 0; size < whole.size(); size += 61) {
    auto const trace = read(whole.substr(0, size));
    if (size < 12) {
      EXPECT_FALSE(trace) << size;
      continue;
    }
    ASSERT_TRUE(trace) << size << ": " << trace.error().message;
    EXPECT_TRUE(trace->log().truncated);
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
    bool const told = trace->log().lost_blocks > 0 || trace->log().truncated;
    EXPECT_TRUE(told || trace->event_count() == all) << at;
  }
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
    batch.add(model::EventKind::kRange, static_cast<int64_t>(random() >> 8), 1, model::StringId{0}, random());
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
