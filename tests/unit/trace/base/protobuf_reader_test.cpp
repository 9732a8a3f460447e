// Protocol Buffers' wire format, against bytes written by hand from its specification.
#include "trace/base/protobuf_reader.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace stepscope::base {
namespace {

using namespace std::string_literals;
using End = ProtobufReader::End;

std::vector<ProtobufField> fields_of(std::string_view message, End expected_end) {
  std::vector<ProtobufField> fields;
  ProtobufReader reader(message);
  ProtobufField field;
  while (reader.next(field)) fields.push_back(field);
  EXPECT_EQ(reader.end(), expected_end);
  EXPECT_FALSE(reader.next(field));
  return fields;
}

TEST(ProtobufReader, ReadsTheFieldsOfAllWireTypes) {
  // From the specification: 08 96 01 is field 1 = 150; 12 07 "testing" is field 2.
  std::string const message =
      "\x08\x96\x01\x12\x07testing\x19\x00\x00\x00\x00\x00\x00\xF0\x3F\x25\x78\x56\x34\x12"s;
  auto const fields = fields_of(message, End::kWhole);
  ASSERT_EQ(fields.size(), 4U);

  EXPECT_TRUE(fields[0].is_varint(1));
  EXPECT_EQ(fields[0].value, 150U);

  EXPECT_TRUE(fields[1].is_bytes(2));
  EXPECT_EQ(fields[1].bytes, "testing");
  EXPECT_EQ(fields[1].bytes.data(), message.data() + 5) << "is a view";

  EXPECT_EQ(fields[2].number, 3U);
  EXPECT_EQ(fields[2].real_value(), 1.0);

  EXPECT_EQ(fields[3].number, 4U);
  EXPECT_EQ(fields[3].value, 0x12345678U);
}

TEST(ProtobufReader, ReadsNegativeNumbersAndLargeOnes) {
  auto const minus_one = fields_of("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"s, End::kWhole);
  ASSERT_EQ(minus_one.size(), 1U);
  EXPECT_EQ(minus_one[0].signed_value(), -1);
  auto const most = fields_of("\xF8\xFF\xFF\xFF\x0F\x01"s, End::kWhole);
  ASSERT_EQ(most.size(), 1U);
  EXPECT_EQ(most[0].number, (1U << 29U) - 1);
}

TEST(ProtobufReader, AMessageThatIsCutAnywhereGivesWhatIsWhole) {
  std::string const message =
      "\x08\x96\x01\x12\x07testing\x19\x00\x00\x00\x00\x00\x00\xF0\x3F\x25\x78\x56\x34\x12"s;

  for (size_t size = 0; size < message.size(); ++size) {
    ProtobufReader reader(std::string_view(message).substr(0, size));
    ProtobufField field;
    size_t whole = 0;
    while (reader.next(field)) whole += field.is_cut ? 0 : 1;

    size_t const ends[] = {3, 12, 21};
    size_t expected = 0;
    for (size_t const end : ends) expected += size >= end ? 1 : 0;
    EXPECT_EQ(whole, expected) << size;

    bool const between = size == 0 || size == 3 || size == 12 || size == 21;
    EXPECT_EQ(reader.end(), between ? End::kWhole : End::kCut) << size;
  }
}

TEST(ProtobufReader, ALengthBeyondTheMessageGivesTheRestAndSaysSo) {
  for (std::string const& length :
       {"\x09"s, "\xFF\xFF\xFF\xFF\x7F"s, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"s}) {
    std::string const message = "\x0A" + length + "testing";
    auto const fields = fields_of(message, End::kCut);
    ASSERT_EQ(fields.size(), 1U);
    EXPECT_TRUE(fields[0].is_cut);
    EXPECT_EQ(fields[0].bytes, "testing");
  }
}

TEST(ProtobufReader, WhatIsNoFieldEndsTheMessage) {
  EXPECT_TRUE(fields_of("\x00\x01"s, End::kBroken).empty()) << "field 0";
  EXPECT_TRUE(fields_of("\x0E\x01"s, End::kBroken).empty()) << "wire type 6";
  EXPECT_TRUE(fields_of("\x0F\x01"s, End::kBroken).empty()) << "wire type 7";
  EXPECT_TRUE(fields_of("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"s, End::kBroken).empty())
      << "eleven bytes";
  EXPECT_TRUE(fields_of("\x80\x80\x80\x80\x80\x01\x01"s, End::kBroken).empty())
      << "a number of more than 29 bits";
  EXPECT_TRUE(fields_of("\x0C"s, End::kBroken).empty()) << "the end of a group that never began";
}

TEST(ProtobufReader, GroupsArePassedOverHoweverDeep) {
  std::string const deep(100'000, '\x0B');  // begins of groups
  EXPECT_TRUE(fields_of(deep, End::kCut).empty());
  std::string const inner = "\x10\x05\x1A\x02hi"s;
  std::string const message = "\x08\x01\x0B" + inner + "\x13" + inner + "\x14\x0C\x08\x02";
  auto const fields = fields_of(message, End::kWhole);
  ASSERT_EQ(fields.size(), 2U);
  EXPECT_EQ(fields[0].value, 1U);
  EXPECT_EQ(fields[1].value, 2U);
}

}  // namespace
}  // namespace stepscope::base
