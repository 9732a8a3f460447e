// Files of a run's folder that are no traces and never were, whatever their names: folders hold
// JSON, logs and databases. A damaged file that may have been a trace is not one of them, because
// Stepscope must report it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace stepscope::import {

/// Whether the file, whose name could be a trace's (has_trace_name()), is of another kind and
/// intact. False for empty and unreadable files, which opening reports. Empty logs are other files:
/// programs leave them behind.
bool is_other_file(std::string const& path);

/// Advice about a folder without a trace: about the first file that may hold a trace, else about
/// the first file of a known kind.
std::optional<std::string> advice_for_folder(std::vector<std::string> const& files);

}  // namespace stepscope::import
