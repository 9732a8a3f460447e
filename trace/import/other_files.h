// Files of a run's folder that are no traces and never were, whatever their names: folders hold much JSON, logs, databases. What
// is damaged and may have been a trace is none of them: it must not be missing without a word.
#pragma once

#include <string>

namespace stepscope::import {

/// Whether the file, whose name could be a trace's (has_trace_name()), is of another kind and intact. Empty and unreadable ones
/// are not: opening them says so. But for empty logs, as programs leave them behind.
bool is_other_file(std::string const& path);

}  // namespace stepscope::import
