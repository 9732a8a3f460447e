#include "viewer/widgets/text.h"

#include <gtest/gtest.h>

#include "viewer/widgets/glyphs.h"

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

TEST(PrintableName, GivesTheNumbersOfCharactersThatAreNotDrawn) {
  EXPECT_EQ(printable_name("train \xF0\x9F\x9A\x80 fast"), "train U+1F680 fast");
  EXPECT_NE(printable_name("\xF0\x9F\x9A\x80"), printable_name("\xF0\x9F\x94\xA5"));
  EXPECT_EQ(printable_name("\xF0\x9F\x9A\x80", 2), "…") << "cut before a whole character";
  EXPECT_EQ(printable_name("µs → שלום é"), "µs → שלום é");
  EXPECT_EQ(printable_name("한"), "U+D55C");

  GlyphSet const* const before = more_glyphs.exchange(nullptr);
  EXPECT_EQ(printable_name("模型"), "U+6A21U+578B") << "no font for it is loaded";
  more_glyphs = before;
}

TEST(PrintableName, KeepsTheCharactersThatAFontOfTheSystemDraws) {
  GlyphSet drawn;
  drawn.set(0x6A21);
  GlyphSet const* const before = more_glyphs.exchange(&drawn);
  EXPECT_EQ(printable_name("模型"), "模U+578B");
  EXPECT_EQ(printable_name("\xF0\x9F\x9A\x80"), "U+1F680") << "beyond the set";
  more_glyphs = before;
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
