// Pickles as data: what Python wrote is read as it was, what would run code is refused, what is
// broken ends them.
#include "trace/import/formats/flight_recorder/pickle.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/import/formats/flight_recorder/json_data.h"

namespace stepscope::import::pickle_tests {
namespace {

using ::testing::HasSubstr;

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

/// As Python prints it, without spaces; what is nested deeper than a few levels as "…".
// NOLINTNEXTLINE(misc-no-recursion): bounded by `depth`
char const* separator_before(size_t item, bool is_dict) {
  if (item == 0) return "";
  return is_dict && item % 2 == 1 ? ":" : ",";
}

std::string text_of(PlainData const& data, PlainData::Value const& value, int depth = 0) {
  switch (value.type) {
    case PlainData::Type::kNone:
      return "None";
    case PlainData::Type::kBool:
      return value.integer != 0 ? "True" : "False";
    case PlainData::Type::kInteger:
      return std::to_string(value.integer);
    case PlainData::Type::kReal:
      return fmt::format("{}", value.real);
    case PlainData::Type::kText:
    case PlainData::Type::kJsonText:
      return "'" + shown_text(value, 1000) + "'";
    case PlainData::Type::kHuge:
      return "huge";
    case PlainData::Type::kList:
    case PlainData::Type::kDict:
      break;
  }
  if (depth > 5) return "…";
  bool const is_dict = value.type == PlainData::Type::kDict;
  std::string text(1, is_dict ? '{' : '[');
  auto const items = data.items(value);
  for (size_t i = 0; i < items.size(); ++i)
    text += separator_before(i, is_dict) + text_of(data, items[i], depth + 1);
  return text + (is_dict ? '}' : ']');
}

std::string read_text(std::string const& bytes) {
  PlainData data;
  auto const read = read_pickle(bytes, data);
  if (!read) return "error: " + read.error().message;
  return text_of(data, read->root) + (read->damage ? " (" + *read->damage + ")" : "");
}

/// What Python's pickle.dumps(value, PROTOCOL).hex() printed. With l = ["s"] the value is:
///   {"a": [1, -2, 70000, 2**40, -2**63, 2**70], "b": (True, False, None), "c": {"x": 1.5},
///    "t": ("only",), "d": "ü", "e": [], "f": (), "twice": [l, l]}.
/// In protocols 4 and 5 it has "g": {1} and "h": b"raw", too.
TEST(Pickle, WhatPythonWroteIsReadInAllProtocols) {
  std::string const plain =
      "7d71002858010000006171015d7102284b014afeffffff4a701101008a060000000000018a080000000000000080"
      "8a0900000000000000004065580100"
      "00006271"
      "0388894e87710458010000006371057d71065801000000787107473ff80000000000007358010000007471085804"
      "0000006f6e6c79710985710a580100"
      "00006471"
      "0b5802000000c3bc710c580100000065710d5d710e580100000066710f295805000000747769636571105d711128"
      "5d7112580100000073711361681265"
      "752e";

  std::string const expected =
      "{'a':[1,-2,70000,1099511627776,-9223372036854775808,huge],'b':[True,False,None],'c':{'x':1."
      "5},'t':['only'],'d':'ü','e':[],"
      "'f':[],";

  EXPECT_EQ(read_text(from_hex("8002" + plain)), expected + "'twice':[['s'],['s']]}");
  EXPECT_EQ(read_text(from_hex("8003" + plain)), expected + "'twice':[['s'],['s']]}");

  std::string const framed =
      "959d000000000000007d94288c0161945d94284b014afeffffff4a701101008a060000000000018a080000000000"
      "0000808a0900000000000000004065"
      "8c0162"
      "9488894e87948c0163947d948c017894473ff8000000000000738c0174948c046f6e6c799485948c0164948c02c3"
      "bc948c0165945d948c016694298c01"
      "67948f"
      "94284b01908c0168944303726177948c057477696365945d94285d948c01739461681665752e";

  for (char const* const protocol : {"8004", "8005"})
    EXPECT_EQ(read_text(from_hex(protocol + framed)),
              expected + "'g':[1],'h':'raw','twice':[['s'],['s']]}");
}

TEST(Pickle, ThatWouldRunCodeIsNeverOpened) {
  // An object whose __reduce__ is (os.system, ("true",)), dumped in protocols 2 and 4. A set in
  // protocol 2 and complex(1, 2), which name a function, too. A persistent id, an extension, and an
  // instance in the old way.
  for (std::string const& bytes :
       {std::string("\x80\x02") + "cposix\nsystem\nq\x01X\x04" + std::string("\0\0\0", 3) +
            "trueq\x02\x85q\x03Rq\x04.",
        from_hex(
            "80049520000000000000008c05706f736978948c0673797374656d9493948c047472756594859452942e"),
        std::string("\x80\x02") + "cbuiltins\nset\n]\x85R.", std::string("\x80\x02K\x01Q."),
        std::string("\x80\x02\x82\x05."), std::string("\x80\x02(iposix\nsystem\n."),
        std::string("\x80\x02NNR."), std::string("\x80\x02}b."), std::string("\x80\x02)\x81.")}) {
    EXPECT_THAT(read_text(bytes), HasSubstr("would run code"));
  }
}

TEST(Pickle, ThatIsBrokenGivesWhatCameBefore) {
  EXPECT_THAT(read_text("\x80\x02](K\x01K\x02"), HasSubstr("[1,2] (ends in the middle"));
  EXPECT_THAT(read_text("\x80\x02](K\x01\xFF"), HasSubstr("[1] (is damaged near byte 6"));
  EXPECT_THAT(read_text("\x80\x02}(U\x01"
                        "aK\x01U\x01"
                        "b"),
              HasSubstr("{'a':1} (ends"));
  EXPECT_THAT(read_text("\x80\x02]K\x07"), HasSubstr("[7] (ends"));

  EXPECT_THAT(read_text("\x80\x02."), HasSubstr("no pickle"));
  EXPECT_THAT(read_text("\x80\x02"), HasSubstr("no pickle"));
  EXPECT_THAT(read_text("\x80\x02"
                        "0."),
              HasSubstr("no pickle"))
      << "nothing to take";

  EXPECT_THAT(read_text("\x80\x02K\x01(K\x02\x86."), HasSubstr("damaged"))
      << "takes what lies below the mark";
  EXPECT_THAT(read_text("\x80\x02](h\x05"
                        "e."),
              HasSubstr("damaged"))
      << "was never remembered";

  EXPECT_THAT(read_text(std::string("\x80\x02") + std::string(2000, '(')), HasSubstr("no pickle"));
  EXPECT_THAT(read_text(std::string("\x80\x02X\xFF\xFF\xFF\x7F") + "abc"), HasSubstr("no pickle"))
      << "longer than the file";
  EXPECT_THAT(read_text(std::string("\x80\x02]r\xF0\xFF\xFF\xFF") + "j\xF0\xFF\xFF\xFF" + "a."),
              HasSubstr("[[[[[[…]]]]]]"))
      << "in itself, under a far number";
}

TEST(Pickle, ListsThatGrowPieceByPieceAreReadInLinearTime) {
  std::string bytes = "\x80\x02](";
  // Python writes lists in pieces; others in single items, and several lists at once.
  bytes += "]q";
  bytes += '\0';
  bytes += "]q\x01";

  for (int i = 0; i < 300'000; ++i)
    bytes += std::string(
        "h\0K\x01"
        "a0h\x01K\x02"
        "a0",
        12);
  bytes += "e.";

  PlainData data;
  auto const read = read_pickle(bytes, data);
  ASSERT_TRUE(read) << read.error().message;

  auto const lists = data.items(read->root);
  ASSERT_EQ(lists.size(), 2U);
  EXPECT_EQ(data.items(lists[0]).size(), 300'000U);
  EXPECT_EQ(data.items(lists[1]).size(), 300'000U);
}

TEST(Pickle, MoreValuesThanAllowedAreAnErrorWhereverTheyAre) {
  auto const error_of = [](std::string const& bytes, size_t most) {
    PlainData data(most);
    auto const read = bytes[0] == '[' ? read_json_data(bytes, data) : read_pickle(bytes, data);
    return read ? "" : read.error().message;
  };

  auto const repeated = [](std::string_view part, int times) {
    std::string bytes = "\x80\x02]";
    for (int i = 0; i < times; ++i) bytes += part;
    return bytes + '.';
  };

  std::string sparse_memo = repeated("", 0);
  sparse_memo.pop_back();
  for (int i = 0; i < 100; ++i)
    sparse_memo += std::string("r\0\0", 3) + static_cast<char>(i) + '\x01';
  std::string json = "[0";
  for (int i = 0; i < 100; ++i) json += ",0";

  for (std::string const& bytes :
       {repeated("]", 100), repeated("K\x01", 100), repeated(std::string("K\x01") + "a", 100),
        repeated("\x94", 100), sparse_memo + ".", json,
        "[" + repeated("[],", 100).substr(3, 300) + "0]"}) {
    EXPECT_THAT(error_of(bytes, 90), ::testing::StartsWith("holds more than 90 values"))
        << bytes.substr(0, 20);
    EXPECT_EQ(error_of(bytes, 1000), "");
  }
}

std::string read_json_text(std::string const& text) {
  PlainData data;
  auto const read = read_json_data(text, data);
  if (!read) return "error: " + read.error().message;
  return text_of(data, read->root) + (read->damage ? " (" + *read->damage + ")" : "");
}

TEST(JsonData, IsReadAndEndsWhereItIsBroken) {
  EXPECT_EQ(
      read_json_text(
          R"json({"a": [1, -2.5, true, null, "x\n\u00fc"], "b": {}, "c": 99999999999999999999})json"),
      "{'a':[1,-2.5,True,None,'x\nü'],'b':{},'c':1e+20}");

  EXPECT_THAT(read_json_text(R"json({"a": [1, 2, {"b": 3)json"),
              HasSubstr("{'a':[1,2,{}]} (ends in the middle"));
  EXPECT_THAT(read_json_text(R"json({"a": [1, 2, {"b": 3, "c":)json"),
              HasSubstr("{'a':[1,2,{'b':3}]} (ends in the middle"));
  EXPECT_THAT(read_json_text(R"json({"a": 1, "b" 2})json"),
              HasSubstr("{'a':1} (is no JSON from byte 13 on)"));
  EXPECT_THAT(read_json_text(std::string(100'000, '[')), HasSubstr("(is no JSON from byte"))
      << "nested like nothing that is meant";
}

}  // namespace
}  // namespace stepscope::import::pickle_tests
