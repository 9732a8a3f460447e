// A vendor's library, found at run time: where it was loaded from and its functions.
#pragma once

#include <string>

#include "doctor/places.h"
#include "trace/base/expected.h"

namespace stepscope::doctor {

/// It stays loaded: vendors' libraries do not like to be unloaded.
class Library {
 public:
  /// `name`: a soname or a path. Errors: the loader's words.
  static base::Expected<Library> open(Places const& places, std::string const& name);

  /// Path of the file that the loader took.
  [[nodiscard]] std::string path() const;
  /// The name that the file gives itself (DT_SONAME); empty when it gives none.
  [[nodiscard]] std::string soname() const;
  /// `function` stays null when the library has none of that name; then false.
  template <class Function>
  bool find(char const* name, Function*& function) const {
    function = reinterpret_cast<Function*>(symbol(name));
    return function != nullptr;
  }

  [[nodiscard]] bool has(char const* name) const { return symbol(name) != nullptr; }

 private:
  explicit Library(void* handle) : handle_(handle) {}
  [[nodiscard]] void* symbol(char const* name) const;

  void* handle_;
};

}  // namespace stepscope::doctor
