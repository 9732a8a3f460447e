#include "doctor/library.h"

#include <dlfcn.h>
#include <link.h>

#include <optional>

#include "trace/base/files/shared_library.h"

namespace stepscope::doctor {
namespace {

/// Null when the loader does not tell.
link_map* map_of(void* handle) {
  link_map* map = nullptr;
  bool const is_known = ::dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0;
  return is_known ? map : nullptr;
}

}  // namespace

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
  link_map const* const map = map_of(handle_);
  return map != nullptr ? map->l_name : "";
}

std::string Library::soname() const {
  link_map const* const map = map_of(handle_);
  if (map == nullptr) return {};

  char const* texts = nullptr;
  std::optional<uint64_t> place;
  for (ElfW(Dyn) const* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    // The loader has replaced the file's offset by an address.
    if (entry->d_tag == DT_STRTAB) texts = reinterpret_cast<char const*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SONAME) place = entry->d_un.d_val;
  }
  return texts != nullptr && place ? texts + *place : "";
}

void* Library::symbol(char const* name) const { return ::dlsym(handle_, name); }

}  // namespace stepscope::doctor
