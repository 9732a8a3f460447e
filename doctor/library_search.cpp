#include "doctor/library_search.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "trace/base/files/shared_library.h"

namespace stepscope::doctor {
namespace {

namespace fs = std::filesystem;

/// Opens a soname or path. True: it is loaded, now or before. A file that is there and cannot be
/// loaded is noted.
bool add(Places const& places, std::string const& name, LibrarySearch& search) {
  auto const library = Library::open(places, name);
  if (library) {
    std::string where = library->path();
    bool const is_known =
        std::any_of(search.found.begin(), search.found.end(),
                    [&](FoundLibrary const& known) { return known.where == where; });
    if (!is_known) search.found.push_back({*library, std::move(where)});
    return true;
  }

  // The loader's words for a missing file begin with its name, those for a missing library that
  // this one needs with the other's.
  std::string const& reason = library.error().message;
  bool const is_missing =
      reason.find(fs::path(name).filename().string() +
                  ": cannot open shared object file: No such") != std::string::npos;
  bool const is_noted =
      std::find(search.broken.begin(), search.broken.end(), reason) != search.broken.end();
  if (!is_missing && !is_noted) search.broken.push_back(reason);
  return false;
}

/// Outside of what the loader looks through by itself.
std::vector<std::string> further_folders(Places const& places) {
  std::vector<std::string> folders = toolkit_library_folders(places);
  std::vector<std::string> const of_python = python_library_folders(places);
  folders.insert(folders.end(), of_python.begin(), of_python.end());
  return folders;
}

/// "libcudnn.so.8" beside "libcudnn.so.9", and not "libcudnn.so.9.1.0".
bool is_other_major(std::string const& name, std::span<char const* const> sonames) {
  std::string_view const soname = sonames.front();
  std::string_view const stem = soname.substr(0, soname.rfind('.') + 1);
  return name.starts_with(stem) && name.size() > stem.size() &&
         name.find_first_not_of("0123456789", stem.size()) == std::string::npos &&
         std::find(sonames.begin(), sonames.end(), name) == sonames.end();
}

std::vector<std::string> find_other_majors(Places const& places,
                                           std::span<char const* const> sonames) {
  std::vector<std::string> folders = places.libraries.empty()
                                         ? base::library_folders()
                                         : std::vector<std::string>{places.libraries};
  std::vector<std::string> const further = further_folders(places);
  folders.insert(folders.end(), further.begin(), further.end());

  std::vector<std::string> paths;
  for (std::string const& folder : folders) {
    for (std::string const& path : list_folder({}, folder)) {
      bool const is_noted = std::find(paths.begin(), paths.end(), path) != paths.end();
      if (!is_noted && is_other_major(fs::path(path).filename().string(), sonames))
        paths.push_back(path);
    }
  }
  return paths;
}

}  // namespace

LibrarySearch find_library(Places const& places, std::span<char const* const> sonames) {
  LibrarySearch search;

  for (char const* const soname : sonames)
    if (add(places, soname, search)) break;
  for (std::string const& folder : further_folders(places)) {
    for (char const* const soname : sonames) {
      std::string const path = folder + "/" + soname;
      if (exists({}, path)) add({}, path, search);
    }
  }

  if (search.found.empty()) search.other_majors = find_other_majors(places, sonames);
  return search;
}

}  // namespace stepscope::doctor
