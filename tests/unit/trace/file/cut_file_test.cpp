// A file that somebody cuts while it is open.
#include <cstring>
#include <filesystem>
#include <latch>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/trace/file/sample_trace.h"
#include "trace/base/files/truncated_mmap.h"
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

/// The block of events with most rows.
IndexEntry largest_block(TraceFile const& file) {
  IndexEntry largest;
  for (IndexEntry const& block : file.blocks())
    if (block.header.type == static_cast<uint16_t>(BlockType::kEvents) &&
        block.header.rows >= largest.header.rows)
      largest = block;
  return largest;
}

/// Depends on every detail row and on their order.
uint64_t hash_of(model::DetailTables const& tables) {
  uint64_t hash = 0;

  auto const add = [&](auto value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(value));
    hash = hash * 31 + bits;
  };
  auto const add_table = [&]<class Row>(model::DetailColumn<Row> const& rows) {
    for (Row const& row : rows)
      std::apply([&](auto const&... field) { (add(row.*field.member), ...); },
                 model::detail_fields<Row>);
  };

  std::apply([&](auto const&... table) { (add_table(table), ...); }, tables);
  return hash;
}

// Most of these cuts fall between the check of the block, when it is still whole, and its decoding,
// when its last bytes are missing.
TEST_F(CutFile, GivesABlockAsItWasOrNotAtAllWhileItIsCut) {
  std::string const copy = file_.path() + ".copy";
  for (int cut = 0; cut < 30; ++cut) {
    std::filesystem::copy_file(file_.path(), copy,
                               std::filesystem::copy_options::overwrite_existing);
    auto const file = TraceFile::open(copy);
    ASSERT_TRUE(file);
    IndexEntry const block = largest_block(*file);

    EventDecoder decoder;
    model::EventBatch batch;
    ASSERT_TRUE(file->decode_block(block, {}, decoder, batch));
    uint64_t const whole = hash_of(batch.details);

    std::latch begun{1};
    std::jthread const cutter([&] {
      begun.wait();
      std::filesystem::resize_file(copy, block.offset + block.size - 100);
    });
    begun.count_down();
    while (file->decode_block(block, {}, decoder, batch)) ASSERT_EQ(hash_of(batch.details), whole);
  }

  std::filesystem::remove(copy);
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
