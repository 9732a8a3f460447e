#include "tests/real_libraries/real_library.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>

#include "tests/support/paths.h"

namespace stepscope::real_libraries {

std::optional<RealLibrary> RealLibrary::open(std::string const& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {};
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return {};
  return RealLibrary(handle, path);
}

std::optional<RealLibrary> RealLibrary::of_toolkit(std::string const& soname) {
  return open(std::string(STEPSCOPE_TOOLKIT_LIBRARIES) + "/" + soname);
}

std::optional<RealLibrary> RealLibrary::of_doubles(std::string const& soname) {
  return open(
      std::filesystem::absolute(support::build_path("cuda_doubles/vendor/" + soname)).string());
}

void* RealLibrary::symbol(char const* name) const { return ::dlsym(handle_, name); }

uintptr_t RealLibrary::base() const {
  link_map* map = nullptr;
  bool const is_known = ::dlinfo(handle_, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0;
  return is_known && map != nullptr ? map->l_addr : 0;
}

}  // namespace stepscope::real_libraries
