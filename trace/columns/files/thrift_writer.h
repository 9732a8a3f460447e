// Writes Thrift's compact protocol, which Parquet's metadata is in
// (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::columns {

/// Fields of a struct come in the order of their ids. Every begin_ has its end_struct(); the
/// outermost struct is there from the begin, take() ends it.
class ThriftWriter {
 public:
  enum class Element : uint8_t { kI32 = 5, kBinary = 8, kStruct = 12 };

  void boolean(int16_t field, bool value) { header(field, value ? 1 : 2); }
  void byte(int16_t field, int8_t value) {
    header(field, 3);
    bytes_ += static_cast<char>(value);
  }
  void i32(int16_t field, int32_t value) { number(field, 5, value); }
  void i64(int16_t field, int64_t value) { number(field, 6, value); }
  void binary(int16_t field, std::string_view value) {
    header(field, static_cast<uint8_t>(Element::kBinary));
    binary_element(value);
  }

  void begin_struct(int16_t field) {
    header(field, static_cast<uint8_t>(Element::kStruct));
    begin_element();
  }
  /// A struct without fields.
  void empty_struct(int16_t field) {
    begin_struct(field);
    end_struct();
  }
  void end_struct() {
    bytes_ += '\0';
    latest_fields_.pop_back();
  }

  /// `count` elements of the type follow: each is an …_element(), or begin_element() to
  /// end_struct().
  void begin_list(int16_t field, Element type, size_t count) {
    constexpr size_t kMostInHeader = 14;
    header(field, 9);
    size_t const shown = count > kMostInHeader ? 15 : count;
    bytes_ += static_cast<char>(shown << 4U | static_cast<size_t>(type));
    if (count > kMostInHeader) varint(count);
  }
  void begin_element() { latest_fields_.push_back(0); }
  void i32_element(int32_t value) { varint(zigzag(value)); }
  void binary_element(std::string_view value) {
    varint(value.size());
    bytes_ += value;
  }

  /// The bytes of the whole struct.
  std::string take() {
    end_struct();
    return std::move(bytes_);
  }

 private:
  static uint64_t zigzag(int64_t value) {
    return (static_cast<uint64_t>(value) << 1U) ^ static_cast<uint64_t>(value >> 63);
  }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes_ += static_cast<char>(value | 0x80U);
    bytes_ += static_cast<char>(value);
  }
  /// The id as the step from the field before, where that is short.
  void header(int16_t field, uint8_t type) {
    int const step = field - latest_fields_.back();
    latest_fields_.back() = field;
    bool const is_short = step >= 1 && step <= 15;
    bytes_ += static_cast<char>(is_short ? step << 4 | type : type);
    if (!is_short) varint(zigzag(field));
  }
  void number(int16_t field, uint8_t type, int64_t value) {
    header(field, type);
    varint(zigzag(value));
  }

  std::string bytes_;
  std::vector<int16_t> latest_fields_ = {0};  ///< of each struct that is open
};

}  // namespace stepscope::columns
