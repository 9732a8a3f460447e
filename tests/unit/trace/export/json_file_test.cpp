#include "trace/export/chrome/json_file.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace stepscope::exporting {
namespace {

std::string string_of(std::string_view text) {
  std::string json;
  append_json_string(text, json);
  return json;
}
std::string microseconds(int64_t ns) {
  std::string json;
  append_microseconds(ns, json);
  return json;
}
template <class Number>
std::string number(Number value) {
  std::string json;
  append_number(value, json);
  return json;
}

TEST(JsonFile, EveryByteBecomesAStringThatAParserReads) {
  for (int byte = 0; byte < 256; ++byte) {
    std::string const text = {'a', static_cast<char>(byte), 'z'};
    nlohmann::json const parsed = nlohmann::json::parse(string_of(text), nullptr, false);
    ASSERT_FALSE(parsed.is_discarded()) << byte;
    EXPECT_EQ(parsed.get<std::string>(), byte < 0x80 ? text : "a\xEF\xBF\xBDz") << byte;
  }
  EXPECT_EQ(string_of("\x01\x1f\x7f\"\\\n\t"), R"("\u0001\u001f\u007f\"\\\n\t")");
  EXPECT_EQ(string_of("µ漢🙂"), "\"µ漢🙂\"");
  EXPECT_EQ(string_of("\xE6\xBC"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(JsonFile, MicrosecondsHaveEveryNanosecond) {
  EXPECT_EQ(microseconds(0), "0.000");
  EXPECT_EQ(microseconds(1), "0.001");
  EXPECT_EQ(microseconds(999), "0.999");
  EXPECT_EQ(microseconds(1'700'000'000'123'456'789), "1700000000123456.789");
  EXPECT_EQ(microseconds(-1), "-0.001");
  EXPECT_EQ(microseconds(-1'500), "-1.500");
  EXPECT_EQ(microseconds(std::numeric_limits<int64_t>::min()), "-9223372036854775.808");
}

TEST(JsonFile, NumbersReadBackTheSame) {
  EXPECT_EQ(number(uint64_t{18446744073709551615U}), "18446744073709551615");
  EXPECT_EQ(number(int64_t{-5}), "-5");
  EXPECT_EQ(std::stod(number(0.1)), 0.1);
  EXPECT_EQ(std::stod(number(1e300)), 1e300);
  EXPECT_EQ(number(std::nan("")), "null");
  EXPECT_EQ(number(std::numeric_limits<double>::infinity()), "null");
}

TEST(JsonFile, MembersStandBetweenCommas) {
  std::string json;
  JsonMembers members(json);
  members.text("a", "x");
  members.number("b", int64_t{1});
  members.raw("c", "[]");
  members.end();
  EXPECT_EQ(json, R"({"a":"x","b":1,"c":[]})");
}

}  // namespace
}  // namespace stepscope::exporting
