// Writes a file so that nobody ever sees half of it: beside the target first, renamed at the end.
#pragma once

#include <string>
#include <string_view>

#include "trace/base/expected.h"
#include "trace/base/files/partial_file.h"

namespace stepscope::base {

/// Errors: the folder cannot be written or the disk is full; the old file, if any, is then
/// untouched.
Expected<void> write_file_atomically(std::string const& path, std::string_view content,
                                     PartialFile::Links links = PartialFile::Links::kFollow);

}  // namespace stepscope::base
