#include "trace/file/codec/json_text.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace stepscope::file {
namespace {

using nlohmann::json;

TEST(JsonTextTest, IsReadAsItWasWritten) {
  std::string every_byte;
  for (int byte = 0; byte < 128; ++byte) every_byte += static_cast<char>(byte);
  std::vector<std::string> const list = {"a", "", "\"]"};

  JsonText out;
  out.begin_object().member("text", every_byte).member("utf8", "μ→\xF0\x9F\x98\x80");
  out.member("least", std::numeric_limits<int64_t>::min());
  out.member("most", std::numeric_limits<uint64_t>::max()).member("real", 989.4e12);
  out.member("list", std::span<std::string const>(list)).key("empty").begin_array().end_array();
  out.key("nested").begin_array().begin_object().end_object().value(1).value(2.5).end_array();

  json const expected = {{"text", every_byte},
                         {"utf8", "μ→\xF0\x9F\x98\x80"},
                         {"least", std::numeric_limits<int64_t>::min()},
                         {"most", std::numeric_limits<uint64_t>::max()},
                         {"real", 989.4e12},
                         {"list", list},
                         {"empty", json::array()},
                         {"nested", {json::object(), 1, 2.5}}};
  EXPECT_EQ(json::parse(out.end_object().take()), expected);
}

TEST(JsonTextTest, ReplacesWhatIsNoTextOrNumber) {
  JsonText out;
  out.begin_array().value(std::string_view("a\xFF\x01"));
  out.value(std::numeric_limits<double>::infinity()).end_array();
  EXPECT_EQ(out.take(), "[\"a\xEF\xBF\xBD\\u0001\",null]");
}

}  // namespace
}  // namespace stepscope::file
