// Little-endian integers and strings in byte buffers: ByteWriter appends, ByteReader reads untrusted bytes and never passes
// their end. A read past the end returns zero and makes ok() false for good; check it once after a group of reads.
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
  /// Overwrites what was put at `offset`; the range must exist.
  template <class T>
  void patch(size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
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
