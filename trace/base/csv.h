// Text as a field of a CSV file (RFC 4180), safe to open in a spreadsheet program.
#pragma once

#include <string>
#include <string_view>

namespace stepscope::base {

/// Appends the field: in quotes where it holds a comma, a quote or a line's end. Spreadsheet
/// programs run what begins with = + -
/// @ (in their wide forms, too) or a tab as a formula: such a text, and one that begins with ',
/// gets a ' in front. So one ' at the begin is always taken off again.
void append_csv_text(std::string& line, std::string_view text);

}  // namespace stepscope::base
