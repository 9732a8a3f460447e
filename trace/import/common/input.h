// What importers read: the bytes of a file, unpacked where they are compressed (gzip, zstd), as a
// stream.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trace/base/bytes.h"
#include "trace/base/expected.h"

namespace stepscope::import {

/// The unpacked bytes of a file, from front to back.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Writes what follows to `room`, as much as fits; less only where the bytes end: see damage().
  virtual size_t read(std::span<char> room) = 0;
  /// Why the bytes end before the file does; nothing when they do not.
  [[nodiscard]] std::optional<std::string> const& damage() const { return damage_; }

 protected:
  std::optional<std::string> damage_;
};

enum class Compression : unsigned char { kNone, kGzip, kZstd };

/// The bytes outlive the input.
class Input {
 public:
  /// More than this, and more times the file's size than JSON ever packs, are a bomb: the stream
  /// ends there, with damage.
  static constexpr uint64_t kSuspiciousBytes = uint64_t{1} << 28U;
  static constexpr uint64_t kSuspiciousRatio = 300;
  /// What head() gives.
  static constexpr size_t kHeadBytes = size_t{1} << 16U;

  Input(base::ByteSpan bytes, std::string name);
  Input(Input const&) = delete;
  Input& operator=(Input const&) = delete;

  [[nodiscard]] std::string const& name() const { return name_; }
  /// The file's, packed or not.
  [[nodiscard]] base::ByteSpan bytes() const { return bytes_; }
  [[nodiscard]] Compression compression() const { return compression_; }
  /// The first bytes, unpacked; enough to know a format.
  [[nodiscard]] std::string_view head() const { return head_; }
  /// Why less than that could be unpacked.
  [[nodiscard]] std::optional<std::string> const& head_damage() const { return head_damage_; }
  /// All bytes where they need no unpacking, else nothing.
  [[nodiscard]] std::optional<std::string_view> plain() const;
  [[nodiscard]] std::unique_ptr<ByteStream> stream() const;

 private:
  base::ByteSpan bytes_;
  std::string name_;
  Compression compression_;
  std::string unpacked_head_;
  std::string_view head_;
  std::optional<std::string> head_damage_;
};

}  // namespace stepscope::import
