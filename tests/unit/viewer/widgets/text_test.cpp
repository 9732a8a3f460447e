#include "viewer/widgets/text.h"

#include <gtest/gtest.h>

namespace stepscope::viewer {
namespace {

TEST(PrintableName, CutsLongNamesAtACharacter) {
  EXPECT_EQ(printable_name("aaaa", 4), "aaaa");
  EXPECT_EQ(printable_name("aaaab", 4), "aaaa…");
  EXPECT_EQ(printable_name("aaaµb", 4), "aaa…");
}

TEST(PrintableName, ReplacesWhatCannotBeShown) {
  EXPECT_EQ(printable_name("a\x1B\xFF"), "a\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(ShortName, LeavesOutReturnTypeAndNamespaces) {
  EXPECT_EQ(short_name("void at::native::vectorized_kernel<4, at::Add>(int)"),
            "vectorized_kernel<4, at::Add>(int)");
  EXPECT_EQ(short_name("sgemm_128x64"), "sgemm_128x64");
  EXPECT_EQ(short_name("wait for a::b"), "wait for a::b");
  EXPECT_EQ(short_name("a::"), "a::");
  EXPECT_EQ(short_name(""), "");
}

TEST(FormatTime, HasTheDecimalsThatTheResolutionNeeds) {
  EXPECT_EQ(format_time(1'234'567'890, 1e6), "1.235 s");
  EXPECT_EQ(format_time(1'234'567'890, 1), "1.234567890 s");
  EXPECT_EQ(format_time(1500, 1), "1.500 µs");
  EXPECT_EQ(format_time(999, 1), "999 ns");
  EXPECT_EQ(format_time(0, 1e6), "0 ms");
}

TEST(FormatTimeRange, HasOneUnit) { EXPECT_EQ(format_time_range(0, 1.5e9), "0.000 s – 1.500 s"); }

}  // namespace
}  // namespace stepscope::viewer
