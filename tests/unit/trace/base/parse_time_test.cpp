#include "trace/base/parse_time.h"

#include <gtest/gtest.h>

namespace stepscope::base {
namespace {

void expect_range(std::string_view text, double begin_ns, double end_ns) {
  auto const range = parse_time_range(text);
  ASSERT_TRUE(range) << text;
  EXPECT_DOUBLE_EQ(range->begin_ns, begin_ns) << text;
  EXPECT_DOUBLE_EQ(range->end_ns, end_ns) << text;
}

TEST(ParseTimeRange, TakesUnitsAndSecondsWithout) {
  expect_range("1.5s:1600ms", 1.5e9, 1.6e9);
  expect_range("1.5:2.25", 1.5e9, 2.25e9);
  expect_range("0:10us", 0, 1e4);
  expect_range("5ns:10µs", 5, 1e4);
  expect_range("0.5:1e3ms", 0.5e9, 1e9);
}

TEST(ParseTimeRange, RefusesWhatIsNoRangeWithAnExample) {
  for (char const* text : {"", ":", "1s", "1:", ":1", "2s:1s", "1s:1s", "-1:2", "1s:nan",
                           "1s:inf s", "1h:2h", "1s:2s:3s", "0:1e18"}) {
    auto const range = parse_time_range(text);
    ASSERT_FALSE(range) << text;
    EXPECT_NE(range.error().message.find("1.5s:1600ms"), std::string::npos);
  }
}

}  // namespace
}  // namespace stepscope::base
