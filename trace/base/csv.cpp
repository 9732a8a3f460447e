#include "trace/base/csv.h"

#include <algorithm>
#include <array>

namespace stepscope::base {

namespace {

/// Spreadsheet programs take the wide forms of = + - @, which East Asian keyboards write, for the
/// same.
bool begins_formula(std::string_view text) {
  constexpr std::string_view kGuarded = "=+-@'\t\r\n";
  constexpr std::array<std::string_view, 4> kWide = {"\xEF\xBC\x9D", "\xEF\xBC\x8B", "\xEF\xBC\x8D",
                                                     "\xEF\xBC\xA0"};
  if (text.empty()) return false;
  return kGuarded.find(text.front()) != std::string_view::npos ||
         std::any_of(kWide.begin(), kWide.end(),
                     [&](std::string_view sign) { return text.starts_with(sign); });
}

}  // namespace

void append_csv_text(std::string& line, std::string_view text) {
  bool const guarded = begins_formula(text);
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
