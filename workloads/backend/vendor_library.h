// A vendor's library, found at run time: as the loader finds it, in a CUDA toolkit, or in Python's
// nvidia packages, as PyTorch brings them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trace/base/expected.h"

namespace stepscope::workloads {

/// Paths to try for a soname, in order: the plain name (the loader's own search), toolkits'
/// folders, Python's packages.
std::vector<std::string> library_candidates(std::string const& soname);

/// It stays loaded: vendors' libraries do not like to be unloaded.
class VendorLibrary {
 public:
  /// `sonames`: best first. `purpose` and `advice` complete the message: "libx.so.1 was not found;
  /// <purpose>: <advice>".
  static base::Expected<VendorLibrary> open(std::span<char const* const> sonames,
                                            char const* purpose, char const* advice);

  /// Where the loader found it.
  [[nodiscard]] std::string const& path() const { return path_; }
  /// False: the library has none of that name.
  template <class Function>
  bool find(char const* name, Function& function) const {
    function = reinterpret_cast<Function>(symbol(name));
    return function != nullptr;
  }

 private:
  VendorLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  [[nodiscard]] void* symbol(char const* name) const;

  void* handle_;
  std::string path_;
};

}  // namespace stepscope::workloads
