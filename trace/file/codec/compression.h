// zstd, with its contexts kept from call to call (making one costs more than a small plane) and the
// limits that untrusted input needs.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "trace/base/bytes.h"

namespace stepscope::file {

/// So much of a file is written before its compressor takes a context. The twenty new pages of one
/// take 0.01 to 0.4 ms, as long as all the rest of a forked child's file.
inline constexpr size_t kNotWorthAContext = 8 << 10;

/// Not thread-safe: one a thread.
class Compressor {
 public:
  /// Leaves the first inputs as they are, until together they have more bytes than that.
  explicit Compressor(size_t left_alone = 0);
  ~Compressor();
  Compressor(Compressor&&) noexcept;
  Compressor& operator=(Compressor&&) noexcept;

  /// Appends the zstd frame of `raw` and returns its size; 0, and nothing is appended, when it
  /// would not be smaller or `raw` is left alone.
  size_t compress(base::ByteSpan raw, base::ByteWriter& out);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
  size_t left_alone_;  ///< of what is to come
};

/// Not thread-safe: one a thread.
class Decompressor {
 public:
  Decompressor();
  ~Decompressor();
  Decompressor(Decompressor&&) noexcept;
  Decompressor& operator=(Decompressor&&) noexcept;

  /// Exactly raw.size() bytes, or false when the frame is damaged or holds another amount.
  bool decompress(base::ByteSpan stored, std::span<std::byte> raw);
  /// The same into new memory, which is taken only when the frame itself says that it holds that
  /// much.
  std::optional<std::vector<std::byte>> decompress(base::ByteSpan stored, size_t raw_size);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace stepscope::file
