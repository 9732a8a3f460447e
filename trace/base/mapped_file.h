// A whole file as read-only bytes, mapped where possible.
#pragma once

#include <cstddef>
#include <string>

#include "trace/base/bytes.h"
#include "trace/base/expected.h"

namespace stepscope::base {

/// Owns the mapping; movable. An empty file has an empty span. The bytes are whatever is in the file: untrusted.
class MappedFile {
 public:
  /// Errors: the path does not exist, is a folder, or cannot be read.
  static Expected<MappedFile> open(std::string const& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(MappedFile const&) = delete;
  MappedFile& operator=(MappedFile const&) = delete;
  ~MappedFile();

  [[nodiscard]] ByteSpan bytes() const { return {static_cast<std::byte const*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace stepscope::base
