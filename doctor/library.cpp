#include "doctor/library.h"

#include <dlfcn.h>
#include <link.h>

#include "trace/base/files/shared_library.h"

namespace stepscope::doctor {

base::Expected<Library> Library::open(Places const& places, std::string const& name) {
  bool const is_path = name.find('/') != std::string::npos;
  std::string const file =
      places.libraries.empty() || is_path ? name : places.libraries + "/" + name;
  if (auto const whole = base::check_shared_library(file, base::library_folders()); !whole)
    return base::fail_with(whole);

  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return Library(handle);
  char const* const reason = ::dlerror();
  return base::fail("{}", reason != nullptr ? reason : "no reason given");
}

std::string Library::path() const {
  link_map* map = nullptr;
  bool const known =
      ::dlinfo(handle_, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map != nullptr;
  return known ? map->l_name : "";
}

void* Library::symbol(char const* name) const { return ::dlsym(handle_, name); }

}  // namespace stepscope::doctor
