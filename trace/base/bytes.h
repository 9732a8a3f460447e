// Little-endian integers and strings in byte buffers: ByteWriter appends, ByteReader reads
// untrusted bytes and never passes their end. A read past the end returns zero and makes ok() false
// for good; check it once after a group of reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace stepscope::base {

using ByteSpan = std::span<std::byte const>;

class ByteWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(T value) {
    auto const* p = reinterpret_cast<std::byte const*>(&value);
    bytes_.insert(bytes_.end(), p, p + sizeof value);
  }
  void put_bytes(ByteSpan bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  /// u32 length, then the characters.
  void put_string(std::string_view text) {
    put(static_cast<uint32_t>(text.size()));
    put_bytes(std::as_bytes(std::span(text)));
  }
  /// LEB128: seven bits a byte, the lowest first; the top bit says that more follow.
  void put_varint(uint64_t value) {
    while (value >= 0x80) {
      put(static_cast<uint8_t>(value | 0x80));
      value >>= 7;
    }
    put(static_cast<uint8_t>(value));
  }
  /// Room for `count` bytes at the end, to be written by the caller; valid until the next call.
  std::span<std::byte> grow(size_t count) {
    bytes_.resize(bytes_.size() + count);
    return {bytes_.data() + bytes_.size() - count, count};
  }
  /// Takes back everything behind the first `size` bytes.
  void shrink(size_t size) { bytes_.resize(size); }
  /// Overwrites what was put at `offset`; the range must exist.
  template <class T>
  void patch(size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
  }

  void patch_bytes(size_t offset, ByteSpan bytes) {
    std::memcpy(bytes_.data() + offset, bytes.data(), bytes.size());
  }

  [[nodiscard]] size_t size() const { return bytes_.size(); }
  [[nodiscard]] ByteSpan span() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  std::vector<std::byte> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(ByteSpan bytes) : bytes_(bytes) {}

  template <class T>
  requires std::is_trivially_copyable_v<T> T get() {
    T value{};
    ByteSpan const raw = get_bytes(sizeof(T));
    if (raw.size() == sizeof(T)) std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }
  /// The next `count` bytes, or an empty span (and ok() = false) when fewer are left.
  ByteSpan get_bytes(size_t count) {
    if (count > remaining()) {
      ok_ = false;
      position_ = bytes_.size();
      return {};
    }
    ByteSpan const result = bytes_.subspan(position_, count);
    position_ += count;
    return result;
  }
  /// What put_varint wrote; more than 64 bits are damage.
  uint64_t get_varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      auto const byte = get<uint8_t>();
      if (shift == 63 && byte > 1) break;
      value |= uint64_t{byte & 0x7FU} << shift;
      if ((byte & 0x80U) == 0) return value;
    }
    ok_ = false;
    return 0;
  }
  std::string_view get_string() {
    ByteSpan const raw = get_bytes(get<uint32_t>());
    return {reinterpret_cast<char const*>(raw.data()), raw.size()};
  }
  [[nodiscard]] size_t remaining() const { return bytes_.size() - position_; }
  [[nodiscard]] size_t position() const { return position_; }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  ByteSpan bytes_;
  size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace stepscope::base
