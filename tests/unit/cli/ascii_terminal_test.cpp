// Texts for terminals without UTF-8.
#include "cli/ascii_terminal.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace stepscope::cli {
namespace {

std::string ascii(std::string_view text) { return AsciiText().add(text); }

TEST(AsciiText, WritesOurOwnSignsInAsManyColumns) {
  EXPECT_EQ(ascii("100 µs → 2.0 × as fast, −3.0 … 4 %"), "100 us > 2.0 x as fast, -3.0 ~ 4 %");
  EXPECT_EQ(ascii("████▒▒ “gemm” ± 3"), "####++ \"gemm\" ~ 3");
  EXPECT_EQ(ascii("▁▂▃▄▅▆▇█"), "_.-=+*%#");
  EXPECT_EQ(ascii("plain\n\x1b[1mbold\x1b[0m"), "plain\n\x1b[1mbold\x1b[0m");
}

TEST(AsciiText, WritesAMarkForWhatHasNoLikeness) {
  EXPECT_EQ(ascii("/data/مرحبا/🚀.run"), "/data/" + std::string(5, '?') + "/?.run");
  EXPECT_EQ(ascii("\xff\xfe ok"),
            "?"
            "? ok")
      << "not UTF-8";
  EXPECT_EQ(ascii("cut \xe2\x82 off"), "cut ? off");
  EXPECT_EQ(ascii("\x80\x80"), std::string(2, '?'));
}

/// A stream hands its bytes on wherever its buffer ends.
TEST(AsciiText, IsTheSameInPieces) {
  std::string const text = "a µs → ██ 🚀 مرحبا “b” \xff\xe2\x82z";
  std::string const whole = ascii(text);
  for (size_t size = 1; size < 7; ++size) {
    AsciiText pieces;
    std::string made;
    for (size_t at = 0; at < text.size(); at += size) made += pieces.add(text.substr(at, size));
    EXPECT_EQ(made, whole) << size;
  }
  for (char const c : whole) EXPECT_LT(static_cast<unsigned char>(c), 0x80U);
}

TEST(AsciiLocale, IsWhatTheFirstVariableSays) {
  struct Case {
    char const *all, *type, *lang;
    bool is_ascii;
  };

  for (Case const& wanted : {Case{"", "", "", false},
                             {"", "", "C", true},
                             {"", "", "C.UTF-8", false},
                             {"", "", "de_DE.utf8", false},
                             {"", "", "en_US.ISO-8859-1", true},
                             {"C", "", "C.UTF-8", true},
                             {"", "en_US.UTF-8", "C", false},
                             {"", "POSIX", "en_US.UTF-8", true}}) {
    ::setenv("LC_ALL", wanted.all, 1);
    ::setenv("LC_CTYPE", wanted.type, 1);
    ::setenv("LANG", wanted.lang, 1);
    EXPECT_EQ(is_ascii_locale(), wanted.is_ascii) << wanted.all << wanted.type << wanted.lang;
  }
}

}  // namespace
}  // namespace stepscope::cli
