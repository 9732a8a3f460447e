// Whether a shared library is complete, before the loader maps it. In a file that was cut by a full
// disk or an interrupted installation the loader ends the program by SIGBUS.
#pragma once

#include <string>
#include <vector>

#include "trace/base/expected.h"

namespace stepscope::base {

/// `name` as dlopen() takes it: a path, or a soname that is looked for in `folders`, first come
/// first. Good as well when no such file is found there, or it is no library: that the loader says.
/// Errors: the file ends before its segments do.
Expected<void> check_shared_library(std::string const& name,
                                    std::vector<std::string> const& folders);

/// The folders where the loader looks for libraries that this one asks for by soname: those of
/// LD_LIBRARY_PATH, of the RUNPATH, and the system's. The folders of ld.so.cache are missing.
std::vector<std::string> library_folders();

}  // namespace stepscope::base
