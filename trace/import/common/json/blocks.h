// JSON text in blocks that can be parsed at the same time: each but the first begins where an
// object of an array probably begins, behind "},". Whether it does is seen when the block before it
// ends: a wrong guess costs time, never an event.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trace/import/common/input.h"

namespace stepscope::import {

/// A part of the text, and what holds it in memory.
struct JsonBlock {
  std::string_view text;
  std::shared_ptr<std::vector<char>> memory;  ///< null = the input's own
};

class JsonBlocks {
 public:
  /// Where no object begins in so much text, it is cut anywhere.
  static constexpr size_t kMostBytes = size_t{1} << 26U;

  /// `block_bytes`: about; longer where an object is.
  JsonBlocks(Input const& input, size_t block_bytes);

  /// What follows, at least `bytes` long unless the text ends. Valid until the next call.
  std::string_view front(size_t bytes);
  /// Removes the first bytes of front().
  void drop(size_t bytes);
  /// Consecutive parts of the text; empty at its end.
  JsonBlock next();
  [[nodiscard]] std::optional<std::string> const& damage() const;

 private:
  bool fill(size_t bytes);
  JsonBlock next_unpacked();

  size_t block_bytes_;
  bool is_plain_;
  std::string_view rest_;               ///< of plain text
  std::unique_ptr<ByteStream> stream_;  ///< of packed text
  bool is_over_ = false;                ///< the stream is
  std::shared_ptr<std::vector<char>> buffer_;
  size_t begin_ = 0, end_ = 0;  ///< of what is in the buffer
};

/// Where the text can be cut: behind the last "}" that "," and "{" follow; 0 when there is none.
size_t last_cut(std::string_view text);

}  // namespace stepscope::import
