#include "trace/base/terminal/text_width.h"

#include <gtest/gtest.h>

namespace stepscope::base {
namespace {

TEST(ColumnsOf, CountsWhatATerminalShows) {
  EXPECT_EQ(columns_of(""), 0U);
  EXPECT_EQ(columns_of("step 12"), 7U);
  EXPECT_EQ(columns_of("größe …"), 7U);
  EXPECT_EQ(columns_of("訓練"), 4U);
  EXPECT_EQ(columns_of("🚀 fast"), 7U);
  EXPECT_EQ(columns_of("שלום"), 4U);
  EXPECT_EQ(columns_of("e\u0301"), 1U) << "a letter and an accent on it";
}

TEST(ColumnsOf, TakesBytesThatAreNoCharacterAsOneColumnEach) {
  EXPECT_EQ(columns_of("\xff\xfe"), 2U);
  EXPECT_EQ(columns_of("\xe8\xa8"), 2U) << "cut in the middle";
  EXPECT_EQ(columns_of("\xf0\x9f\x9a"), 3U);
}

TEST(CutToColumns, LeavesRoomForTheSign) {
  EXPECT_EQ(cut_to_columns("rank 12", 7), "rank 12");
  EXPECT_EQ(cut_to_columns("rank 12", 5), "rank…");
  EXPECT_EQ(cut_to_columns("訓練データ", 6), "訓練…") << "no character is cut in half";
  EXPECT_EQ(cut_to_columns("訓練", 1), "…");
}

}  // namespace
}  // namespace stepscope::base
