// A whole file as read-only bytes, mapped where possible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "trace/base/bytes.h"
#include "trace/base/expected.h"
#include "trace/base/files/truncated_mmap.h"

namespace stepscope::base {

/// Owns the mapping; movable. An empty file has an empty span. The bytes are whatever is in the
/// file: untrusted. A file that is replaced by another one keeps its bytes here; of one that is cut
/// the rest reads as zeros (survive_cut_files()).
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
  /// Whether the file has become shorter since it was opened: bytes may be zeros that were not.
  /// From any thread.
  [[nodiscard]] bool is_cut() const;
  /// Lets the system take the memory of what was read: who reads it again finds the same bytes,
  /// later.
  void release_pages() const;

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
  std::string path_;
  uint64_t device_ = 0, inode_ = 0;  ///< of the file, which another one may have replaced
  GuardedMapping guard_;
};

/// The error of what was read of such a file.
[[nodiscard]] tl::unexpected<Error> became_shorter(std::string const& path);

}  // namespace stepscope::base
