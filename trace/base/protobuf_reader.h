// Messages in Protocol Buffers' wire format (protobuf.dev/programming-guides/encoding), field by
// field, from untrusted bytes: views of the message, no copies, no schema. Unknown fields are
// passed over by whoever asks for the next one. Inline: a trace has many millions of fields.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace stepscope::base {

enum class WireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kGroupBegin = 3,
  kGroupEnd = 4,
  kFixed32 = 5
};

struct ProtobufField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  bool is_cut = false;  ///< of kBytes: says that it is longer than the rest of the message, which
                        ///< `bytes` is then
  uint64_t value = 0;   ///< of a varint or a fixed number: its bits
  std::string_view bytes;  ///< of kBytes

  [[nodiscard]] bool is_varint(uint32_t wanted) const {
    return number == wanted && type == WireType::kVarint;
  }
  [[nodiscard]] bool is_bytes(uint32_t wanted) const {
    return number == wanted && type == WireType::kBytes;
  }
  /// An int64 of the schema.
  [[nodiscard]] int64_t signed_value() const { return static_cast<int64_t>(value); }
  /// A double of the schema.
  [[nodiscard]] double real_value() const {
    double real = 0;
    static_assert(sizeof real == sizeof value);
    std::memcpy(&real, &value, sizeof real);
    return real;
  }
};

class ProtobufReader {
 public:
  /// How the message ended.
  enum class End : uint8_t {
    kWhole,  ///< behind a field, or not yet
    kCut,    ///< in the middle of one
    kBroken  ///< what stands there is no field
  };

  /// The message outlives the reader and what it gives.
  explicit ProtobufReader(std::string_view message)
      : begin_(message.data()), at_(begin_), end_(begin_ + message.size()) {}

  /// False when there is nothing more that can be read; end() says why. Groups, which no current
  /// schema has, are passed over with all that is in them. Always inlined: a field that goes
  /// through memory is written in halves and read as a whole, which waits.
  [[gnu::always_inline]] bool next(ProtobufField& field) {
    while (at_ != end_) {
      uint64_t tag = 0;
      if (!read_varint(tag)) return false;
      field.number = static_cast<uint32_t>(tag >> 3U);
      field.type = static_cast<WireType>(tag & 7U);
      constexpr uint64_t kTagLimit = uint64_t{1} << 32U;
      if (field.number == 0 || tag >= kTagLimit) return fail(End::kBroken);
      switch (field.type) {
        case WireType::kVarint: {
          uint64_t value = 0;
          if (!read_varint(value)) return false;
          field.value = value;
          return true;
        }
        case WireType::kBytes:
          return read_bytes(field);
        case WireType::kFixed64:
          return read_fixed<uint64_t>(field.value);
        case WireType::kFixed32:
          return read_fixed<uint32_t>(field.value);
        case WireType::kGroupBegin:
          if (!skip_group()) return false;
          continue;
        default:
          return fail(End::kBroken);
      }
    }
    return false;
  }
  [[nodiscard]] End end() const { return end_state_; }
  /// Of what comes next, from the begin of the message.
  [[nodiscard]] size_t offset() const { return static_cast<size_t>(at_ - begin_); }

 private:
  bool fail(End end) {
    end_state_ = end;
    at_ = end_;
    return false;
  }
  /// Behind its begin. Not by recursion: they may be as deep as the message is long.
  [[gnu::noinline]] bool skip_group() {
    ProtobufField ignored;
    for (uint64_t open = 1; open > 0;) {
      uint64_t tag = 0;
      if (at_ == end_) return fail(End::kCut);
      if (!read_varint(tag)) return false;
      auto const type = static_cast<WireType>(tag & 7U);
      bool is_read = true;
      if (type == WireType::kGroupBegin) {
        ++open;
      } else if (type == WireType::kGroupEnd) {
        --open;
      } else if (type == WireType::kVarint) {
        is_read = read_varint(ignored.value);
      } else if (type == WireType::kBytes) {
        is_read = read_bytes(ignored) && !ignored.is_cut;
      } else if (type == WireType::kFixed64) {
        is_read = read_fixed<uint64_t>(ignored.value);
      } else if (type == WireType::kFixed32) {
        is_read = read_fixed<uint32_t>(ignored.value);
      } else {
        return fail(End::kBroken);
      }
      if (!is_read) return false;
    }
    return true;
  }
  [[gnu::always_inline]] bool read_varint(uint64_t& value) {
    if (at_ != end_ && (static_cast<uint8_t>(*at_) & 0x80U) == 0) {
      value = static_cast<uint8_t>(*at_++);
      return true;
    }
    return read_long_varint(value);
  }
  /// Of two to eight bytes at once, where so many are left: seven bits of each are moved together.
  bool read_long_varint(uint64_t& value) {
    if (end_ - at_ >= 8) {
      uint64_t word = 0;
      std::memcpy(&word, at_, sizeof word);
      uint64_t const last = ~word & 0x8080808080808080U;  // the lowest bit of it: of the last byte
      if (last != 0) {
        at_ += static_cast<unsigned>(std::countr_zero(last)) / 8 + 1;
        word &= (last ^ (last - 1)) & 0x7F7F7F7F7F7F7F7FU;
        word = (word & 0x007F007F007F007FU) | (word & 0x7F007F007F007F00U) >> 1U;
        word = (word & 0x00003FFF00003FFFU) | (word & 0x3FFF00003FFF0000U) >> 2U;
        value = (word & 0x000000000FFFFFFFU) | (word & 0x0FFFFFFF00000000U) >> 4U;
        return true;
      }
    }
    return read_varint_by_bytes(value);
  }
  [[gnu::noinline]] bool read_varint_by_bytes(uint64_t& value) {
    uint64_t result = 0;
    constexpr unsigned kBits = 64, kBitsPerByte = 7;
    for (unsigned shift = 0; shift < kBits; shift += kBitsPerByte) {
      if (at_ == end_) return fail(End::kCut);
      auto const byte = static_cast<uint8_t>(*at_++);
      result |= uint64_t{byte & 0x7FU} << shift;
      if ((byte & 0x80U) != 0) continue;
      value = result;
      return true;
    }
    return fail(End::kBroken);
  }
  [[gnu::always_inline]] bool read_bytes(ProtobufField& field) {
    uint64_t size = 0;
    if (!read_varint(size)) return false;
    auto const left = static_cast<uint64_t>(end_ - at_);
    field.is_cut = size > left;
    if (field.is_cut) {
      end_state_ = End::kCut;
      size = left;
    }
    field.bytes = {at_, static_cast<size_t>(size)};
    at_ += size;
    return true;
  }
  template <class Number>
  [[gnu::always_inline]] bool read_fixed(uint64_t& value) {
    if (static_cast<size_t>(end_ - at_) < sizeof(Number)) return fail(End::kCut);
    Number number = 0;
    std::memcpy(&number, at_, sizeof number);
    at_ += sizeof number;
    value = number;
    return true;
  }

  char const* begin_;
  char const* at_;
  char const* end_;
  End end_state_ = End::kWhole;
};

}  // namespace stepscope::base
