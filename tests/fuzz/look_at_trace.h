// Fuzzers let the viewer work on a file: lay it out at several zooms, search it, sum over ranges of
// time and describe events.
#pragma once

#include <string>

namespace stepscope::fuzz {

/// False: it cannot be opened.
bool look_in_memory(std::string const& path);
/// False: it cannot be opened, or not so. `is_analyzed`: and once more with its analysis and
/// critical path.
bool look_out_of_core(std::string const& path, bool is_analyzed);

}  // namespace stepscope::fuzz
