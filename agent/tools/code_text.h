// Names in Markdown as an agent should repeat them: as they are, but unable to be anything but
// text.
#pragma once

#include <string>
#include <string_view>

namespace stepscope::agent {

/// The text as code, printable, in one line and cut at `limit` bytes. A backtick becomes an
/// apostrophe, since it would end the code, and a bar, which would end a table's cell, gets a
/// backslash.
std::string in_code(std::string_view text, size_t limit = 300);

}  // namespace stepscope::agent
