// Bytes of protobuf's wire format, as its documentation has them or worked out by hand.
#include "trace/export/perfetto/protobuf_writer.h"

#include <string>

#include <gtest/gtest.h>

namespace stepscope::exporting {
namespace {

std::string hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (char const byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4U];
    text += kDigits[static_cast<unsigned char>(byte) & 0xFU];
  }
  return text;
}

TEST(ProtobufWriter, NumbersAndTextsAreThoseOfTheDocumentation) {
  ProtobufWriter out(0);
  out.varint(1, 150);
  out.text(2, "testing");
  EXPECT_EQ(hex(out.bytes()), "0896011207" + hex("testing"));

  out.clear();
  out.varint(16, 0);
  out.varint(1, UINT64_MAX);
  out.signed_varint(1, -2);
  EXPECT_EQ(hex(out.bytes()),
            "800100"
            "08ffffffffffffffffff01"
            "08feffffffffffffffff01");

  out.clear();
  out.fixed64(1, 0x0102030405060708);
  out.real(3, 1.0);
  EXPECT_EQ(hex(out.bytes()),
            "09"
            "0807060504030201"
            "19"
            "000000000000f03f");
}

TEST(ProtobufWriter, MessagesOfAnyLengthHaveTheShortestLength) {
  for (size_t const length : {size_t{0}, size_t{124}, size_t{125}, size_t{126}, size_t{16379},
                              size_t{16384}, size_t{100'000}}) {
    ProtobufWriter out(0);
    size_t const outer = out.begin_root(1);
    size_t const inner = out.begin(2);
    std::string const text(length, 'x');
    out.text(3, text);
    out.end(inner);
    out.varint(4, 1);
    out.end(outer);

    auto const varint = [](size_t value) {
      std::string bytes;
      for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>(value | 0x80U);
      return bytes + static_cast<char>(value);
    };

    std::string const field = "\x1a" + varint(length) + text;
    std::string const middle = "\x12" + varint(field.size()) + field + "\x20\x01";
    EXPECT_EQ(out.bytes(), "\x0a" + varint(middle.size()) + middle) << length;
  }
}

TEST(ProtobufWriter, SaysWhenItMustBeEmptied) {
  ProtobufWriter out(1000);
  EXPECT_FALSE(out.is_full());
  size_t const message = out.begin_root(1);
  out.text(1, std::string(1000, 'x'));
  out.end(message);
  EXPECT_TRUE(out.is_full());
  out.clear();
  EXPECT_FALSE(out.is_full());
}

}  // namespace
}  // namespace stepscope::exporting
