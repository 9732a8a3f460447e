// Turns foreign text into HTML and into JSON inside a script element. Nothing of a trace reaches
// the page on another way.
#pragma once

#include <string>
#include <string_view>

namespace stepscope::reports {

/// Printable, cut at `limit` bytes, with & < > " ' as entities: safe as text and inside quoted
/// attributes. Names that are written from the right are isolated from what is beside them.
std::string escape(std::string_view text, size_t limit = 300);
/// The same without signs that isolate: for commands that people copy, and for other programs.
std::string escape_exactly(std::string_view text, size_t limit = 300);
/// JSON with < > & and U+2028/2029 as \u escapes: cannot end its script element, and is the same
/// JSON.
std::string script_safe(std::string_view json);

}  // namespace stepscope::reports
