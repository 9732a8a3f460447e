// A file that is written from front to back, in pieces, so that nobody ever sees half of it. Until
// it is whole it has no name (O_TMPFILE), or on file systems without such files a hidden temporary
// one beside the target. Where the target is no file but a device, a pipe or /dev/stdout, it gets
// the pieces as they come.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/base/expected.h"
#include "trace/base/files/unfinished.h"

namespace stepscope::base {

/// Destroyed before finish(), or killed: what was written is removed, the old file, if any,
/// untouched. The finished file has the permissions that the umask leaves, also where it replaces
/// another one.
class PartialFile {
 public:
  /// What happens where `path` is a link.
  enum class Links : uint8_t {
    kFollow,   ///< it stays, and what it leads to is replaced: the user named it
    kReplace,  ///< it is replaced: Stepscope chose the name in a folder, where anybody may have
               ///< planted a link
  };
  /// kNever is for tests of file systems without such files.
  enum class Nameless : uint8_t { kWherePossible, kNever };

  /// Errors: no name, a folder has it, or the folder that it is in cannot be written.
  static Expected<PartialFile> create(std::string path, Links links = Links::kFollow,
                                      Nameless nameless = Nameless::kWherePossible);

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
  void open_temporary(Nameless nameless);
  void abandon();
  Expected<void> write_all(std::string_view bytes);
  Expected<void> name_it();
  Expected<void> copy_to_named();

  std::string path_;
  std::string target_;  ///< what finish() replaces; empty where the bytes go straight to `path_`
  std::string beside_;  ///< the temporary name; empty as long as there is none
  Unfinished beside_name_;  ///< the same, for signals
  int fd_ = -1;
  uint64_t bytes_written_ = 0;
};

}  // namespace stepscope::base
