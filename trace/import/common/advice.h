// What to tell the user about a file that is no trace: a sentence with the command to run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace stepscope::import {

struct FileAdvice {
  std::string sentence;           ///< follows the file's name: "is packed with bzip2, …"
  bool may_hold_a_trace = false;  ///< next to traces the file must be reported, not skipped
};

using Advice = std::optional<FileAdvice>;

inline Advice may_be_trace(std::string sentence) { return FileAdvice{std::move(sentence), true}; }
inline Advice no_trace(std::string sentence) { return FileAdvice{std::move(sentence), false}; }

/// Whether the name of a file announces a trace: "Rank3.pb", "my_trace.sqlite.gz".
bool claims_to_be_trace(std::string_view file_name);

}  // namespace stepscope::import
