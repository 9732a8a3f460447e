// A file that is written from front to back, in pieces, so that nobody ever sees half of it: beside the target until it is whole.
// Where the target is no file but a device, a pipe or /dev/stdout, it gets the pieces as they come.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/base/expected.h"

namespace stepscope::base {

/// Destroyed before finish(): what was written is removed, the old file, if any, untouched.
class PartialFile {
 public:
  /// Errors: no name, a folder has it, or the folder that it is in cannot be written.
  static Expected<PartialFile> create(std::string path);

  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&& other) noexcept;
  PartialFile(PartialFile const&) = delete;
  PartialFile& operator=(PartialFile const&) = delete;
  ~PartialFile();

  /// Not buffered. Errors: the disk is full.
  Expected<void> write(std::string_view bytes);
  /// Puts the file where it belongs, over an old one. Errors: as above.
  Expected<void> finish();
  [[nodiscard]] uint64_t bytes_written() const { return bytes_written_; }
  [[nodiscard]] std::string const& path() const { return path_; }

 private:
  explicit PartialFile(std::string path) : path_(std::move(path)) {}
  void abandon();

  std::string path_, target_, beside_;  ///< the last two are empty where there is nothing to rename
  int fd_ = -1;
  uint64_t bytes_written_ = 0;
};

}  // namespace stepscope::base
