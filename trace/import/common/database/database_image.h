// The bytes of a SQLite database file as SQLite can read them from memory. A packed file is
// unpacked. The header is mended where the file is cut off or was left in write-ahead mode.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "trace/base/bytes.h"
#include "trace/base/expected.h"
#include "trace/import/common/input.h"

namespace stepscope::import {

/// Whether bytes begin like a database file.
bool is_sqlite(std::string_view head);

class DatabaseImage {
 public:
  /// The input's bytes outlive the image; they are copied only where they have to be changed.
  /// Errors: no database, a database that another program is writing, or one that does not fit into
  /// memory.
  static base::Expected<DatabaseImage> open(Input const& input);

  [[nodiscard]] base::ByteSpan bytes() const { return bytes_; }
  /// What is missing, for people; nothing where the file is whole.
  [[nodiscard]] std::optional<std::string> const& damage() const { return damage_; }

 private:
  base::Expected<void> unpack(Input const& input);
  base::Expected<void> repair_header(std::string const& name);

  std::unique_ptr<std::byte[]> own_;
  base::ByteSpan bytes_;
  std::optional<std::string> damage_;
};

}  // namespace stepscope::import
