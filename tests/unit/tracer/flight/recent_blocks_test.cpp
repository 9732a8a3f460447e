#include "tracer/core/flight/recent_blocks.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tracer/core/flight/name_spaces.h"

namespace stepscope::tracer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int64_t> ends(KeptBlocks const& kept) {
  std::vector<int64_t> result;
  for (KeptBlock const& block : kept.events) result.push_back(block.header.max_end);
  return result;
}
std::vector<std::string> texts(std::vector<KeptBlock> const& blocks) {
  std::vector<std::string> result;
  for (KeptBlock const& block : blocks)
    result.emplace_back(reinterpret_cast<char const*>(block.payload.data()), block.payload.size());
  return result;
}

class RecentBlocksTest : public ::testing::Test {
 protected:
  void add(file::BlockType type, std::string const& text, int64_t end_ns = 0) {
    file::BlockHeader header;
    header.type = static_cast<uint16_t>(type);
    header.max_end = end_ns;
    EXPECT_TRUE(blocks.add(header, std::as_bytes(std::span(text))));
  }
  void add_events(int64_t end_ns, size_t bytes = 10) {
    add(file::BlockType::kEvents, std::string(bytes, 'e'), end_ns);
  }

  static constexpr size_t kMaxBytes = 10 * (10 + sizeof(KeptBlock));
  RecentBlocks blocks{kMaxBytes};
};

TEST_F(RecentBlocksTest, KeepsWhatEndedSince) {
  for (int64_t const end : {10, 30, 20, 40}) add_events(end);
  EXPECT_THAT(ends(blocks.copy()), ElementsAre(10, 30, 20, 40));
  EXPECT_EQ(blocks.copy().complete_since_ns, INT64_MIN);

  blocks.keep_from(25);
  add_events(50);
  KeptBlocks const kept = blocks.copy();
  EXPECT_THAT(ends(kept), ElementsAre(30, 20, 40, 50)) << "in the order in which they came";
  EXPECT_EQ(kept.complete_since_ns, 10);
  EXPECT_FALSE(kept.is_cut_by_bytes);
}

TEST_F(RecentBlocksTest, KeepsNoMoreThanItMay) {
  for (int64_t end = 0; end < 1000; ++end) {
    add_events(end);
    EXPECT_LE(blocks.bytes(), kMaxBytes);
  }
  KeptBlocks const kept = blocks.copy();
  EXPECT_THAT(ends(kept), ElementsAre(990, 991, 992, 993, 994, 995, 996, 997, 998, 999));
  EXPECT_TRUE(kept.is_cut_by_bytes);
  EXPECT_EQ(kept.complete_since_ns, 989);

  add_events(1000, 2 * kMaxBytes);
  EXPECT_THAT(ends(blocks.copy()), ElementsAre(1000)) << "one block is always there";
}

TEST_F(RecentBlocksTest, CopiesStayAsTheyWere) {
  add(file::BlockType::kEvents, "first", 1);
  KeptBlocks const kept = blocks.copy();
  blocks.keep_from(100);
  for (int64_t end = 100; end < 200; ++end) add_events(end, 50);
  EXPECT_THAT(texts(kept.events), ElementsAre("first"));
}

TEST_F(RecentBlocksTest, HoldsBlocksLargerThanAChunk) {
  RecentBlocks large(size_t{64} << 20);
  std::string const text(size_t{5} << 20, 'x');
  file::BlockHeader header;
  header.type = static_cast<uint16_t>(file::BlockType::kEvents);
  EXPECT_TRUE(large.add(header, std::as_bytes(std::span(text))));
  EXPECT_EQ(texts(large.copy().events).front(), text);
}

TEST_F(RecentBlocksTest, KeepsNamesAsLongAsTheirEvents) {
  add(file::BlockType::kStrings, "a");
  add(file::BlockType::kDescription, "not kept");
  add(file::BlockType::kTracks, "not kept");
  add_events(1);
  blocks.begin_names();
  add(file::BlockType::kStrings, "b");
  add_events(2);
  EXPECT_THAT(texts(blocks.copy().names), ElementsAre("a", "b"));

  blocks.keep_from(2);
  add_events(3);
  EXPECT_THAT(texts(blocks.copy().names), ElementsAre("b"));
  blocks.keep_from(100);
  add_events(100);
  EXPECT_THAT(texts(blocks.copy().names), ElementsAre("b")) << "later events may name them";
}

TEST_F(RecentBlocksTest, GivesUpEventsWhoseNamesHaveTheirIdsTakenAway) {
  for (uint32_t space = 0; space < kNameSpaces; ++space) {
    if (space > 0) blocks.begin_names();
    add(file::BlockType::kStrings, std::to_string(space));
    add_events(space);
  }
  EXPECT_THAT(ends(blocks.copy()), ElementsAre(0, 1, 2));

  blocks.begin_names();
  KeptBlocks const kept = blocks.copy();
  EXPECT_THAT(ends(kept), ElementsAre(1, 2));
  EXPECT_THAT(texts(kept.names), ElementsAre("1", "2"));
  EXPECT_TRUE(kept.is_cut_by_bytes);
}

TEST_F(RecentBlocksTest, BeginsNamesBeforeAnyEvent) {
  for (int i = 0; i < 10; ++i) blocks.begin_names();
  EXPECT_THAT(blocks.copy().names, IsEmpty());
  add(file::BlockType::kStrings, "a");
  EXPECT_THAT(texts(blocks.copy().names), ElementsAre("a"));
}

}  // namespace
}  // namespace stepscope::tracer
