// All bytes of an input at once, for formats that cannot be read piece by piece.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/expected.h"
#include "trace/import/common/input.h"

namespace stepscope::import {

/// The bytes where they are when they need no unpacking, else a copy.
class WholeInput {
 public:
  /// Such files are of a process's last minutes, or of one job: more than this is something else.
  static constexpr size_t kMostBytes = size_t{1} << 33U;
  /// What is unpacked lies in memory, with what is made of it: at most a quarter of the machine's.
  static size_t most_unpacked_bytes();

  /// Errors: too large. The input outlives what is read.
  static base::Expected<WholeInput> read(Input const& input,
                                         size_t most_unpacked = most_unpacked_bytes());

  [[nodiscard]] std::string_view text() const {
    return plain_ ? *plain_ : std::string_view(unpacked_.data(), unpacked_.size());
  }
  /// Why the bytes end before the file does.
  [[nodiscard]] std::optional<std::string> const& damage() const { return damage_; }

 private:
  std::optional<std::string_view> plain_;
  std::vector<char> unpacked_;
  std::optional<std::string> damage_;
};

}  // namespace stepscope::import
