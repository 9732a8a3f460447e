// Programs that are built with the memory or the thread sanitizer: these see the program's own code
// only, so that they take what a library without them writes and hands between threads for faults
// of the program, and end it.
#pragma once

#include <string_view>

namespace stepscope::tracer {

/// Why this program must not be recorded, as a line to say; empty if it can be.
std::string_view why_checked_program_is_left_alone();

}  // namespace stepscope::tracer
