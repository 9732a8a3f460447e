// The ids of names in a ring, which has no end: they are used again and again, so that a file of it
// never begins at a huge one. While events of a space are there no other texts get its ids.
#pragma once

#include <cstdint>

namespace stepscope::tracer {

/// Space n has the ids from n · kNamesOfSpace on.
inline constexpr uint32_t kNameSpaces = 3, kNamesOfSpace = 1 << 20;

}  // namespace stepscope::tracer
