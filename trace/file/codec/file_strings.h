// The texts of a .stepscope file by their ids: what the payloads of its string blocks say together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace stepscope::file {

/// The texts of a file by their ids.
class FileStrings {
 public:
  /// False when the payload is damaged, or has more texts than `bytes_left` pays for: an empty one
  /// takes four bytes there and many more in memory. Views point into it.
  bool add(std::vector<std::byte> payload, uint64_t& bytes_left);
  [[nodiscard]] std::span<std::string_view const> texts() const { return texts_; }

 private:
  std::vector<std::vector<std::byte>> payloads_;
  std::vector<std::string_view> texts_;  ///< data() is null where the text is not known
  size_t unknown_ = 0;                   ///< ids that blocks skipped
};

}  // namespace stepscope::file
