// Where a training program's library is: the places that the bundled workloads look at, in their
// order, and why a file there cannot be loaded.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "doctor/library.h"

namespace stepscope::doctor {

struct FoundLibrary {
  Library library;
  std::string where;  ///< its path
};

struct LibrarySearch {
  std::vector<FoundLibrary> found;  ///< the loader's first; each file once
  std::vector<std::string>
      broken;  ///< for each file that cannot be loaded, its path and the reason
  /// Paths of files of the same library with another major version. Looked for only where none was
  /// found.
  std::vector<std::string> other_majors;
};

/// `sonames`: of one library, best first. Looks where the loader looks, in CUDA toolkits and in
/// Python's packages.
LibrarySearch find_library(Places const& places, std::span<char const* const> sonames);

}  // namespace stepscope::doctor
