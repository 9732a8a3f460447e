// Where NVIDIA's libraries are; see vendor_library.h.
#include "workloads/backend/vendor_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "trace/base/files/shared_library.h"

namespace stepscope::workloads {
namespace {

std::string variable(char const* name) {
  char const* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Prefixes of the active environment, the interpreter that `python3` starts, the user and the
/// system.
std::vector<std::string> python_prefixes() {
  std::vector<std::string> prefixes = {variable("VIRTUAL_ENV"), variable("CONDA_PREFIX")};

  std::istringstream folders(variable("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code error;
    if (!std::filesystem::exists(folder + "/python3", error)) continue;
    prefixes.push_back(std::filesystem::path(folder).parent_path().string());
    break;
  }

  if (std::string const home = variable("HOME"); !home.empty())
    prefixes.push_back(home + "/.local");

  prefixes.insert(prefixes.end(), {"/usr/local", "/usr"});
  std::erase(prefixes, "");
  return prefixes;
}

void add_matches(std::string const& pattern, std::vector<std::string>& paths) {
  glob_t found = {};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  }
  ::globfree(&found);
}

std::string path_of(void* handle, std::string const& asked_for) {
  link_map* map = nullptr;
  bool const known =
      ::dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map != nullptr;
  return known ? map->l_name : asked_for;
}

}  // namespace

std::vector<std::string> library_candidates(std::string const& soname) {
  std::vector<std::string> paths = {soname};

  for (std::string const& toolkit :
       {variable("CUDA_PATH"), variable("CUDA_HOME"), std::string("/usr/local/cuda")}) {
    if (toolkit.empty()) continue;
    for (char const* const folder : {"/lib64/", "/targets/x86_64-linux/lib/"})
      add_matches(toolkit + folder + soname, paths);
  }

  for (std::string const& prefix : python_prefixes()) {
    for (char const* const packages : {"site-packages", "dist-packages"}) {
      add_matches(fmt::format("{}/lib/python3*/{}/nvidia/*/lib/{}", prefix, packages, soname),
                  paths);
    }
  }

  return paths;
}

base::Expected<VendorLibrary> VendorLibrary::open(std::span<char const* const> sonames,
                                                  char const* purpose, char const* advice) {
  std::string reasons;

  for (char const* const soname : sonames) {
    for (std::string const& path : library_candidates(soname)) {
      // The loader would end the program.
      if (auto const whole = base::check_shared_library(path, base::library_folders()); !whole) {
        reasons += (reasons.empty() ? "" : "; ") + whole.error().message;
        continue;
      }
      if (void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
        return VendorLibrary(handle, path_of(handle, path));
      char const* const reason = ::dlerror();
      reasons +=
          fmt::format("{}{}", reasons.empty() ? "" : "; ", reason != nullptr ? reason : path);
    }
  }

  return base::fail(
      "cuda: {} was not found in the loader's folders, a CUDA toolkit or Python's nvidia packages "
      "({}); {}: {}",
      sonames.front(), reasons, purpose, advice);
}

void* VendorLibrary::symbol(char const* name) const { return ::dlsym(handle_, name); }

}  // namespace stepscope::workloads
