// Wide-character names (UTF-32 on Linux) as UTF-8.
#pragma once

#include <cstddef>
#include <string>

namespace stepscope::tracer {

/// At most `max_bytes`, whole characters only; what is no code point becomes U+FFFD. Null gives an
/// empty text.
std::string utf8_from_wide(wchar_t const* text, size_t max_bytes);

}  // namespace stepscope::tracer
