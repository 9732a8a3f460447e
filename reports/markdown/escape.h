// Turns foreign text into Markdown as GitHub and GitLab read it. Nothing of a trace reaches a
// comment on another way.
#pragma once

#include <string>
#include <string_view>

namespace stepscope::reports {

/// Printable, one line, cut at `limit` bytes: no markup, no HTML, no link, no end of a table's
/// cell; names with '@' and numbers with '#' must not mention users or issues. Safe in the middle
/// of a line, in a list item and in a table.
std::string markdown_escape(std::string_view text, size_t limit = 2000);

}  // namespace stepscope::reports
