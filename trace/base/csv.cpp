#include "trace/base/csv.h"

namespace stepscope::base {

void append_csv_text(std::string& line, std::string_view text) {
  constexpr std::string_view kGuarded = "=+-@'\t\r\n";
  bool const guarded = !text.empty() && kGuarded.find(text.front()) != std::string_view::npos;
  bool const quoted = text.find_first_of(",\"\r\n") != std::string_view::npos;
  if (quoted) line += '"';
  if (guarded) line += '\'';
  if (!quoted) {
    line += text;
    return;
  }
  for (char const c : text) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

}  // namespace stepscope::base
