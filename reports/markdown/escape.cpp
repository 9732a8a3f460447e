#include "reports/markdown/escape.h"

#include "reports/words/labels.h"

namespace stepscope::reports {
namespace {

bool is_ascii_punctuation(char byte) {
  return (byte >= '!' && byte <= '/') || (byte >= ':' && byte <= '@') ||
         (byte >= '[' && byte <= '`') || (byte >= '{' && byte <= '~');
}

/// Whether a sign means nothing there. `before`: the text to its left.
bool is_plain(char byte, std::string_view before) {
  constexpr std::string_view kPlain = ",%/;?'\"(=";
  if (kPlain.find(byte) != std::string_view::npos) return true;
  // Lists begin with a sign or a number; "www." begins a link.
  bool const begins = before.find_first_not_of("0123456789") == std::string_view::npos;
  if (byte == '.') return !begins && before.back() != 'w' && before.back() != 'W';
  return !begins && (byte == '+' || byte == '-' || byte == ')');
}

}  // namespace

std::string markdown_escape(std::string_view text, size_t limit) {
  // Mentions and references are found in what is left after Markdown: they need their name right
  // behind the sign.
  constexpr std::string_view kWordJoiner = "\xE2\x81\xA0";
  std::string const clean = shown(text, limit);
  std::string result;

  for (size_t i = 0; i < clean.size(); ++i) {
    // A backslash takes its meaning from any ASCII punctuation.
    if (is_ascii_punctuation(clean[i]) && !is_plain(clean[i], std::string_view(clean).substr(0, i)))
      result += '\\';
    result += clean[i];
    if (clean[i] == '@' || clean[i] == '#') result += kWordJoiner;
  }

  return result;
}

}  // namespace stepscope::reports
