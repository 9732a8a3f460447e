// Programs that are built with the memory or the thread sanitizer. A sanitizer sees the program's
// own code only. It takes what a library without it writes and hands between threads for faults of
// the program, and ends it.
#pragma once

#include <string_view>

namespace stepscope::tracer {

/// Why this program must not be recorded, as a line to say; empty if it can be.
std::string_view why_checked_program_is_left_alone();

}  // namespace stepscope::tracer
