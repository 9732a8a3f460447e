// Files of a run's folder that are no traces and never were, whatever their names: folders hold
// much JSON, logs, databases. What is damaged and may have been a trace is none of them: it must
// not be missing without a word.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace stepscope::import {

/// Whether the file, whose name could be a trace's (has_trace_name()), is of another kind and
/// intact. Empty and unreadable ones are not: opening them says so. But for empty logs, as programs
/// leave them behind.
bool is_other_file(std::string const& path);

/// Of a folder without a trace: what the first of its files that may hold one, else the first that
/// is known, is, and what to do.
std::optional<std::string> advice_for_folder(std::vector<std::string> const& files);

}  // namespace stepscope::import
