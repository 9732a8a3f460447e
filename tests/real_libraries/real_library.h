// A library of NVIDIA's that is installed, or of the doubles that stand for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace stepscope::real_libraries {

class RealLibrary {
 public:
  /// The file in the toolkit of this build; nothing where it is not installed.
  static std::optional<RealLibrary> of_toolkit(std::string const& soname);
  /// The double of the same name; nothing where this build has none.
  static std::optional<RealLibrary> of_doubles(std::string const& soname);

  [[nodiscard]] std::string const& path() const { return path_; }
  [[nodiscard]] void* handle() const { return handle_; }
  [[nodiscard]] void* symbol(char const* name) const;
  /// Null when the library has no function of that name.
  template <class Function>
  [[nodiscard]] Function function(char const* name) const {
    return reinterpret_cast<Function>(symbol(name));
  }
  /// Where the loader put it: an address is this plus the value of a symbol of its file.
  [[nodiscard]] uintptr_t base() const;

 private:
  RealLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  static std::optional<RealLibrary> open(std::string const& path);

  void* handle_;
  std::string path_;
};

/// Ends a test where the library is not installed.
#define SKIP_WITHOUT(library, soname) \
  if (!(library)) GTEST_SKIP() << (soname) << " is not in " << STEPSCOPE_TOOLKIT_LIBRARIES

/// Ends a test that is for another version of the library.
#define SKIP_UNLESS_VERSION(library, version, pinned)                                       \
  if ((version) != (pinned))                                                                \
  GTEST_SKIP() << (library).path() << " has version " << (version) << ", this test is for " \
               << (pinned)

}  // namespace stepscope::real_libraries
