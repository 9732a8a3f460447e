// Writes protobuf's wire format into a buffer: varints, fixed numbers, texts, and messages within
// messages (https://protobuf.dev/programming-guides/encoding/).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "trace/base/check.h"

namespace stepscope::exporting {

/// Bytes are taken out with take(). Room is checked once a message: begin_root() makes room for
/// kMostMessageBytes, and no message may be longer.
class ProtobufWriter {
 public:
  static constexpr size_t kMostMessageBytes = size_t{1} << 17U;

  explicit ProtobufWriter(size_t bytes)
      : capacity_(bytes + kMostMessageBytes), data_(new char[capacity_]), at_(data_.get()) {}

  void varint(uint32_t field, uint64_t value) {
    put_varint(uint64_t{field} << 3U);
    put_varint(value);
  }
  /// int32, int64 and enumerations: negative ones take ten bytes.
  void signed_varint(uint32_t field, int64_t value) { varint(field, static_cast<uint64_t>(value)); }
  void fixed64(uint32_t field, uint64_t value) {
    put_varint((uint64_t{field} << 3U) | 1U);
    std::memcpy(at_, &value, sizeof value);  // little-endian, as every machine that this runs on is
    at_ += sizeof value;
  }
  void real(uint32_t field, double value) { fixed64(field, std::bit_cast<uint64_t>(value)); }
  void text(uint32_t field, std::string_view value) {
    STEPSCOPE_CHECK(value.size() + kMostHeaderBytes <= room());
    put_varint((uint64_t{field} << 3U) | 2U);
    put_varint(value.size());
    std::memcpy(at_, value.data(), value.size());
    at_ += value.size();
  }

  /// A message that ends with end(); its place is that of its first byte.
  [[nodiscard]] size_t begin(uint32_t field) {
    put_varint((uint64_t{field} << 3U) | 2U);
    ++at_;  // its length, when that is below 128
    return size();
  }
  void end(size_t place) {
    size_t const length = size() - place;
    char* const first = data_.get() + place;
    if (length < 0x80) {
      first[-1] = static_cast<char>(length);
      return;
    }

    size_t more = 0;
    for (size_t rest = length >> 7U; rest != 0; rest >>= 7U) ++more;

    std::memmove(first + more, first, length);
    at_ = first - 1;
    put_varint(length);
    at_ += length;
  }
  /// begin() of a message that is in no other; there must be room for it, see is_full().
  [[nodiscard]] size_t begin_root(uint32_t field) {
    STEPSCOPE_CHECK(room() >= kMostMessageBytes);
    return begin(field);
  }
  /// Whether take() and clear() are due before the next begin_root().
  [[nodiscard]] bool is_full() const { return room() < kMostMessageBytes; }
  [[nodiscard]] std::string_view bytes() const { return {data_.get(), size()}; }
  void clear() { at_ = data_.get(); }

 private:
  static constexpr size_t kMostHeaderBytes = 20;
  [[nodiscard]] size_t size() const { return static_cast<size_t>(at_ - data_.get()); }
  [[nodiscard]] size_t room() const { return capacity_ - size(); }
  void put_varint(uint64_t value) {
    while (value >= 0x80) {
      *at_++ = static_cast<char>(value | 0x80);
      value >>= 7U;
    }
    *at_++ = static_cast<char>(value);
  }

  size_t capacity_;
  std::unique_ptr<char[]> data_;
  char* at_;
};

}  // namespace stepscope::exporting
