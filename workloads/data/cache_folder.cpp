// The cache's place, from the environment; see cache_folder.h.
#include "workloads/data/cache_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>

namespace stepscope::workloads {

std::filesystem::path cache_folder() {
  namespace fs = std::filesystem;
  if (char const* const own = std::getenv("STEPSCOPE_CACHE"); own != nullptr && *own != '\0')
    return own;
  if (char const* const xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg != '\0')
    return fs::path(xdg) / "stepscope";
  if (char const* const home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return fs::path(home) / ".cache/stepscope";
  return fs::temp_directory_path() / "stepscope";
}

CacheLock::CacheLock(std::filesystem::path const& folder) {
  std::error_code ignored;
  std::filesystem::create_directories(folder.parent_path(), ignored);
  file_ =
      ::open((folder.string() + ".lock").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file_ >= 0) ::flock(file_, LOCK_EX);
}

CacheLock::~CacheLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace stepscope::workloads
