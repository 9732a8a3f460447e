#include "trace/base/format.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace stepscope::base {
namespace {

TEST(Format, DurationsHaveThreeSignificantDigitsAndTheirUnit) {
  EXPECT_EQ(format_duration(0), "0 ns");
  EXPECT_EQ(format_duration(980), "980 ns");
  EXPECT_EQ(format_duration(12'400), "12.4 µs");
  EXPECT_EQ(format_duration(3'210'000), "3.21 ms");
  EXPECT_EQ(format_duration(1'750'000'000), "1.75 s");
  EXPECT_EQ(format_duration(125'000'000'000), "2 min 5 s");
  EXPECT_EQ(format_duration(7'500'000'000'000), "2 h 5 min");
}

TEST(Format, DurationsRoundUpIntoTheNextUnitInsteadOfShowingAThousand) {
  EXPECT_EQ(format_duration(999'600), "1.00 ms");
  EXPECT_EQ(format_duration(999'999'999), "1.00 s");
}

TEST(Format, NegativeDurationsKeepTheirSignAndTheSmallestDoesNotOverflow) {
  EXPECT_EQ(format_duration(-12'400), "-12.4 µs");
  EXPECT_EQ(format_duration(INT64_MIN).front(), '-');
}

TEST(Format, BytesUsePowersOf1024AndBandwidthPowersOf1000) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_bytes(3ULL << 30), "3.00 GiB");
  EXPECT_EQ(format_bandwidth(12.34e9), "12.3 GB/s");
  EXPECT_EQ(format_bandwidth(2.5e6), "2.5 MB/s");
}

TEST(Format, CountsAreGroupedByThousands) {
  EXPECT_EQ(format_significant(0.0312, 2), "0.031");
  EXPECT_EQ(format_significant(1151.8, 3), "1,152");
  EXPECT_EQ(format_significant(999.4, 3), "999");
  EXPECT_EQ(format_significant(999.7, 3), "1,000");
  EXPECT_EQ(format_significant(-21'100, 2), "-21,100");
  EXPECT_EQ(format_significant(9e-7, 2), "0");
  EXPECT_EQ(format_significant(1e300, 3), "1,000,000,000,000,000,000");
  EXPECT_EQ(format_significant(std::numeric_limits<double>::quiet_NaN(), 3), "n/a");

  EXPECT_EQ(format_count(7), "7");
  EXPECT_EQ(format_count(1234), "1,234");
  EXPECT_EQ(format_count(1'234'567), "1,234,567");
  EXPECT_EQ(format_count(1, "rank"), "1 rank");
  EXPECT_EQ(format_count(1234, "rank"), "1,234 ranks");
}

TEST(Format, PrintableKeepsTextAndReplacesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("conv1 µ 漢"), "conv1 µ 漢");
  EXPECT_EQ(printable("\x1b[31mred"), "\xEF\xBF\xBD[31mred");
  EXPECT_EQ(printable("a\nb"),
            "a\xEF\xBF\xBD"
            "b");
}

TEST(Format, PrintableReplacesSignsThatTurnTheDirectionOfText) {
  for (std::string const sign : {"\u202A", "\u202E", "\u2066", "\u2069"})
    EXPECT_EQ(printable("a" + sign + "b"), "a\uFFFDb");
  EXPECT_EQ(printable("\u2013 \u2029\u202F\u2065 \u05D0"), "\u2013 \u2029\u202F\u2065 \u05D0");
}

TEST(Format, PrintableReplacesInvalidUtf8) {
  EXPECT_EQ(printable("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");       // overlong
  EXPECT_EQ(printable("\xE6\xBC"), "\xEF\xBF\xBD\xEF\xBF\xBD");       // cut
  EXPECT_EQ(printable("\xED\xA0\x80").substr(0, 3), "\xEF\xBF\xBD");  // surrogate
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\xEF\xBF\xBD"
            "31m");  // C1 control: an escape on some terminals
}

TEST(Format, ValidUtf8KeepsControlCharactersAndCutsBetweenCharacters) {
  EXPECT_EQ(valid_utf8("a\nµ\x01", 100), "a\nµ\x01");
  EXPECT_EQ(valid_utf8("a\xFFz", 100), "a\xEF\xBF\xBDz");
  EXPECT_EQ(valid_utf8("µµµ", 5), "µµ");
  EXPECT_EQ(valid_utf8("a\xFF", 3), "a");
  EXPECT_EQ(valid_utf8("", 3), "");
}

TEST(Format, SentencesAboutOneThingAreSingular) {
  EXPECT_EQ(count_sentence(2, "ranges never end; they are shown until the end"),
            "2 ranges never end; they are shown until the end");
  EXPECT_EQ(count_sentence(1, "ranges never end; they are shown until the end"),
            "1 range never ends; it is shown until the end");

  EXPECT_EQ(count_sentence(1, "ends of ranges have no begin and were left out"),
            "1 end of ranges has no begin and was left out");
  EXPECT_EQ(count_sentence(1, "entries are there twice and were left out"),
            "1 entry is there twice and was left out");

  EXPECT_EQ(count_sentence(1, "rows do not tell their process: they are shown in the first"),
            "1 row does not tell its process: it is shown in the first");
  EXPECT_EQ(count_sentence(1, "events lie more than a day from all others: such times cannot be"),
            "1 event lies more than a day from all others: such times cannot be");

  EXPECT_EQ(count_sentence(1, "names are given to ids that have one"),
            "1 name is given to ids that have one");
  EXPECT_EQ(count_sentence(1, "events refer to names that were lost and were left out"),
            "1 event refers to names that were lost and was left out");

  EXPECT_EQ(count_sentence(0, "names were cut"), "0 names were cut");
}

}  // namespace
}  // namespace stepscope::base
