// JSON of traces: tokens, values that are skipped, text, times, and the places where it may be cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "trace/import/common/json/blocks.h"
#include "trace/import/common/json/cursor.h"
#include "trace/import/formats/chrome/chrome_events.h"
#include "trace/import/formats/chrome/kineto_arguments.h"

namespace stepscope::import {
namespace {

using ::testing::ElementsAre;
using Failure = JsonCursor::Failure;

/// The value at the begin of the text, or why there is none.
std::string value_of(std::string_view text) {
  JsonCursor cursor(text);
  std::string value(cursor.value());
  if (cursor.failure() == Failure::kEnd) return "end";
  return cursor.failed() ? "broken" : value;
}

TEST(JsonCursor, SkipsWholeValues) {
  EXPECT_EQ(value_of(R"(  {"a": [1, {"b": "]}"}], "c": "\"}"} , 5)"),
            R"({"a": [1, {"b": "]}"}], "c": "\"}"})");
  EXPECT_EQ(value_of(R"("a\\",1)"), R"("a\\")");
  EXPECT_EQ(value_of("-1.5e+3,"), "-1.5e+3");
  EXPECT_EQ(value_of("NaN}"), "NaN");
  EXPECT_EQ(value_of("-Infinity]"), "-Infinity");
  std::string const longer(100, 'x');
  EXPECT_EQ(value_of("[\"" + longer + "\\\"" + longer + "\"] "),
            "[\"" + longer + "\\\"" + longer + "\"]");
}

TEST(JsonCursor, TellsTheEndOfTheTextFromWhatIsBroken) {
  for (char const* const cut :
       {"", " ", "{", R"({"a)", R"({"a")", R"(["a\)", "12", "tru", R"({"a": [1, {"b": 2})"})
    EXPECT_EQ(value_of(cut), "end") << cut;
  for (char const* const broken : {"]", "}", ",", "[}", "{]", R"({"a": [})", "&"})
    EXPECT_EQ(value_of(broken), "broken") << broken;
}

/// Where each of the searches stops in `text`, one character at a time.
size_t naive_end(std::string_view text, bool (*stops)(char)) {
  size_t at = 0;
  while (at < text.size() && !stops(text[at])) ++at;
  return at;
}

TEST(JsonCursor, FindsTheEndOfStringsWordsAndSpacesWhereverItIs) {
  auto const ends_string = [](char c) { return c == '"' || c == '\\'; };
  auto const ends_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '+' && c != '.';
  };
  auto const ends_space = [](char c) { return c != ' ' && c != '\n' && c != '\t' && c != '\r'; };

  for (size_t length = 0; length <= 40; ++length) {
    for (size_t place = 0; place <= length; ++place) {
      for (int byte = 0; byte < 256; ++byte) {
        for (char const filling : {'7', ' '}) {
          std::string text(length, filling);
          if (place < length) text[place] = static_cast<char>(byte);
          char const* const end = text.data() + text.size();

          ASSERT_EQ(find_string_end(text.data(), end) - text.data(), naive_end(text, ends_string))
              << byte;
          ASSERT_EQ(find_word_end(text.data(), end) - text.data(), naive_end(text, ends_word))
              << byte;
          ASSERT_EQ(find_space_end(text.data(), end) - text.data(), naive_end(text, ends_space))
              << byte;
        }
      }
    }
  }
}

TEST(JsonCursor, NestingIsBounded) {
  std::string const deep(JsonCursor::kMaxDepth, '['), bomb(1'000'000, '[');
  EXPECT_EQ(value_of(deep + std::string(JsonCursor::kMaxDepth, ']')),
            deep + std::string(JsonCursor::kMaxDepth, ']'));
  EXPECT_EQ(value_of(bomb), "broken");
}

TEST(JsonCursor, VisitsTheMembersOfAnObject) {
  JsonCursor cursor(R"({"a": 1, "b" : "x", "c":[{}]} rest)");
  std::vector<std::string> seen;
  EXPECT_TRUE(cursor.object([&](std::string_view key) {
    seen.push_back(std::string(key) + "=" + std::string(cursor.value()));
  }));
  EXPECT_THAT(seen, ElementsAre("a=1", "b=\"x\"", "c=[{}]"));
  EXPECT_EQ(cursor.rest(), " rest");
}

TEST(JsonText, ResolvesEscapesAndReplacesWhatIsNoText) {
  EXPECT_EQ(json_text(R"(a\"b\\c\/d\n\t\u00e9\u20AC\uD83D\uDE00)", 100), "a\"b\\c/d\n\té€😀");
  EXPECT_EQ(json_text("\xC3\xA9 \xFF \xC0\xAF \xED\xA0\x80 \xF5", 100),
            "é \uFFFD \uFFFD\uFFFD \uFFFD\uFFFD\uFFFD \uFFFD");
  EXPECT_EQ(json_text(R"(\uD83D \uDE00 \u12 \x \)", 100), "\uFFFD \uFFFD \uFFFD12 \uFFFD ");
  EXPECT_EQ(json_text("\x1b[31m\x7f \xC2\x9B", 100), "\uFFFD[31m\uFFFD \uFFFD");
  EXPECT_EQ(json_text(std::string(1000, 'x'), 10).size(), 10U);
}

TEST(Microseconds, AreExactToTheNanosecond) {
  EXPECT_EQ(parse_microseconds("1414456661601.577"), 1414456661601577);
  EXPECT_EQ(parse_microseconds("1712195495519689.0"), 1712195495519689000);
  EXPECT_EQ(parse_microseconds("1669783687464181"), 1669783687464181000);

  EXPECT_EQ(parse_microseconds("0.001"), 1);
  EXPECT_EQ(parse_microseconds("7.5"), 7500);
  EXPECT_EQ(parse_microseconds("-2.25"), -2250);

  EXPECT_EQ(parse_microseconds("848671.6747283936"), 848671675);  // rounded
  EXPECT_EQ(parse_microseconds("1.9995"), 2000);

  EXPECT_EQ(parse_microseconds("1.5e3"), 1'500'000);
  EXPECT_EQ(parse_microseconds("9200000000000000"), 9'200'000'000'000'000'000);
}

TEST(Microseconds, ThatAreNoneOrTooManyAreNone) {
  for (char const* const bad : {"", "-", ".", "x", "NaN", "Infinity", "1e400", "9300000000000000",
                                "99999999999999999999999", "1.2.3", "1 "})
    EXPECT_EQ(parse_microseconds(bad), std::nullopt) << bad;
}

TEST(Numbers, AreReadFromWhereverTheyStand) {
  EXPECT_EQ(parse_integer("-12"), -12);
  EXPECT_EQ(parse_integer("3.0"), 3);
  EXPECT_EQ(parse_integer("1e400"), std::nullopt);
  EXPECT_EQ(parse_integer("x"), std::nullopt);
  EXPECT_EQ(trailing_number("stream 7 "), 7);
  EXPECT_EQ(trailing_number("Spans"), std::nullopt);
}

TEST(Cuts, AreBetweenObjectsOfAnArray) {
  std::string_view const text = R"([{"a":1},{"b":{"c":2}}, {"d":"},{"}])";
  EXPECT_EQ(text.substr(last_cut(text.substr(0, 20))), R"(,{"b":{"c":2}}, {"d":"},{"}])");
  EXPECT_EQ(last_cut("{\"a\": 1}"), 0U);
  EXPECT_EQ(next_cut(text, 0), 8U);
  EXPECT_EQ(next_cut("{}", 0), std::string_view::npos);
}

}  // namespace
}  // namespace stepscope::import
