// Terminals that do not show UTF-8: texts are written in ASCII there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stepscope::cli {

/// UTF-8 that comes in pieces, as ASCII: "100 µs → 2 ×" → "100 us > 2 x". A character of one column
/// stays one, so that tables keep their columns. Characters without a likeness, and bytes that are
/// no UTF-8, become "?".
class AsciiText {
 public:
  /// What the bytes add. A character that is cut off waits for its rest.
  std::string add(std::string_view bytes);

 private:
  void end_character(std::string& text);

  uint32_t character_ = 0;  ///< so far
  int missing_ = 0;         ///< bytes of it
};

/// Whether the environment says that texts are not in UTF-8: LC_ALL, LC_CTYPE or LANG, the first
/// that is set. Where none is, as in most containers, nothing is known, and terminals show UTF-8.
bool is_ascii_locale();

/// From here on the standard output and the standard error go through AsciiText, where a terminal
/// shows them and the locale asks for it. Files and pipes always get UTF-8. Called once.
void begin_ascii_terminal();

}  // namespace stepscope::cli
