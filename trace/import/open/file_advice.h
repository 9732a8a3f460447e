// Files that people name, or keep among their traces, and that Stepscope does not read: what each is, and what to do with it.
#pragma once

#include <optional>
#include <string>

#include "trace/import/common/input.h"

namespace stepscope::import {

struct FileAdvice {
  std::string sentence;           ///< goes behind the file's name: "is packed with bzip2, …"
  bool may_hold_a_trace = false;  ///< among traces it must not be missing without a word
};

/// Of a file that no importer knows, by its content and, where that tells nothing, by its name; nothing: it may be anything.
std::optional<FileAdvice> advice_for_file(Input const& input);

}  // namespace stepscope::import
