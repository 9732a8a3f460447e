// The cache's place, from the environment; see cache_folder.h.
#include "workloads/data/cache_folder.h"

#include <cstdlib>

namespace stepscope::workloads {

std::filesystem::path cache_folder() {
  namespace fs = std::filesystem;
  if (char const* const own = std::getenv("STEPSCOPE_CACHE"); own != nullptr && *own != '\0') return own;
  if (char const* const xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg != '\0') return fs::path(xdg) / "stepscope";
  if (char const* const home = std::getenv("HOME"); home != nullptr && *home != '\0') return fs::path(home) / ".cache/stepscope";
  return fs::temp_directory_path() / "stepscope";
}

}  // namespace stepscope::workloads
