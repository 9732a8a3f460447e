// Temporary files and folders beside an output: hidden, with a random name that no trace, report or
// data file has, and locked as long as their command lives. So a later command can tell a leftover
// (after SIGKILL) from work under way, and removes it.
#pragma once

#include <string>
#include <string_view>

#include "trace/base/expected.h"
#include "trace/base/files/unfinished.h"

namespace stepscope::base {

/// ".stepscope-0123456789abcdef.tmp", with 64 random bits.
std::string temporary_name();
bool is_temporary_name(std::string_view file_name);

/// Removes what killed commands of this user left in `folder` ("" = the current one). Links are not
/// followed, and what another process still has locked stays. A folder is searched once in a
/// process, and only its first 10,000 entries.
void remove_leftovers(std::string const& folder);

/// The folder that `path` is in, "." for a name alone.
std::string folder_of(std::string const& path);

/// A new file in `folder`, open for reading and writing, with the permissions that the umask
/// leaves.
struct TemporaryFile {
  Unfinished name;
  std::string path;
  int fd = -1;  ///< the caller closes it; errno tells why it is -1
};
TemporaryFile make_temporary_file(std::string const& folder);

/// A new folder in another one, for this process alone (mode 0700). Removed with all that is in it.
class TemporaryFolder {
 public:
  /// Errors: the folder cannot be written.
  static Expected<TemporaryFolder> create(std::string const& folder);

  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept;
  TemporaryFolder(TemporaryFolder const&) = delete;
  TemporaryFolder& operator=(TemporaryFolder const&) = delete;
  ~TemporaryFolder();

  [[nodiscard]] std::string const& path() const { return path_; }
  [[nodiscard]] std::string path_of(std::string_view file) const {
    return fmt::format("{}/{}", path_, file);
  }

 private:
  TemporaryFolder() = default;

  std::string path_;
  int lock_ = -1;
  Unfinished name_;
};

}  // namespace stepscope::base
