// What fuzzers let the viewer do with a file: it is laid out at several zooms, searched, summed over ranges of time and
// described.
#pragma once

#include <string>

namespace stepscope::fuzz {

void look_in_memory(std::string const& path);
/// Nothing if the file's format cannot be opened so. `is_analyzed`: and once more with its analysis and critical path.
void look_out_of_core(std::string const& path, bool is_analyzed);

}  // namespace stepscope::fuzz
