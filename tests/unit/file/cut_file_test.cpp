// A file that somebody cuts while it is open.
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/unit/file/sample_trace.h"
#include "trace/base/cut_files.h"
#include "trace/file/trace_file.h"
#include "trace/file/writer.h"

namespace stepscope::file {
namespace {

class CutFile : public testing::Test {
 protected:
  CutFile() {
    base::survive_cut_files();
    EXPECT_TRUE(write_trace(sample_trace(3, 4, 20'000), file_.path()));
  }
  void cut_to(double share) const {
    auto const size = static_cast<double>(std::filesystem::file_size(file_.path()));
    std::filesystem::resize_file(file_.path(), static_cast<uintmax_t>(size * share));
  }

  TemporaryFile const file_;
};

TEST_F(CutFile, IsAnErrorThatNamesItWhereEventsAreGone) {
  auto const file = TraceFile::open(file_.path());
  ASSERT_TRUE(file);
  cut_to(0.5);
  auto const trace = file->read();
  ASSERT_FALSE(trace);
  EXPECT_NE(trace.error().message.find("became shorter"), std::string::npos);
  EXPECT_NE(trace.error().message.find(file_.path()), std::string::npos);
}

TEST_F(CutFile, HasNoBlocksBehindItsNewEnd) {
  auto const file = TraceFile::open(file_.path());
  ASSERT_TRUE(file);
  static_cast<void>(file->texts());
  cut_to(0.01);
  EventDecoder decoder;
  model::EventBatch batch;
  size_t read = 0;
  for (IndexEntry const& block : file->blocks())
    if (block.header.type == static_cast<uint16_t>(BlockType::kEvents))
      read += file->decode_block(block, {}, decoder, batch) ? 1 : 0;
  EXPECT_EQ(read, 0U);
  EXPECT_FALSE(file->steps());
}

TEST_F(CutFile, KeepsWhatLiesBeforeItsNewEnd) {
  auto const file = TraceFile::open(file_.path());
  ASSERT_TRUE(file);
  static_cast<void>(file->texts());
  // The first block of events alone is left.
  uint64_t end = 0;
  IndexEntry first;
  for (IndexEntry const& block : file->blocks())
    if (end == 0 && block.header.type == static_cast<uint16_t>(BlockType::kEvents)) {
      end = block.offset + block.size;
      first = block;
    }
  std::filesystem::resize_file(file_.path(), end);
  EventDecoder decoder;
  model::EventBatch batch;
  EXPECT_TRUE(file->decode_block(first, {}, decoder, batch));
  EXPECT_EQ(batch.size(), first.header.rows);
}

TEST_F(CutFile, ThatGrowsIsReadAsItWas) {
  auto const file = TraceFile::open(file_.path());
  ASSERT_TRUE(file);
  uint64_t const size = file->size_bytes();
  std::filesystem::resize_file(file_.path(), size + 100'000);
  auto const trace = file->read();
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->event_count(), file->event_count());
}

}  // namespace
}  // namespace stepscope::file
