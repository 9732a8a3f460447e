#include "reports/html/escape.h"

#include "reports/words/labels.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// The character of a valid UTF-8 sequence.
char32_t code_point(std::string_view sequence) {
  if (sequence.size() == 1) return static_cast<unsigned char>(sequence[0]);
  auto code = static_cast<char32_t>(static_cast<unsigned char>(sequence[0]) &
                                    (0xFFU >> (sequence.size() + 1)));
  for (char const byte : sequence.substr(1))
    code = (code << 6U) | (static_cast<unsigned char>(byte) & 0x3FU);
  return code;
}

/// Scripts that are written from the right: Hebrew, Arabic, Syriac, N'Ko and others.
bool is_from_right(char32_t code) {
  return (code >= 0x590 && code <= 0x8FF) || (code >= 0xFB1D && code <= 0xFDFF) ||
         (code >= 0xFE70 && code <= 0xFEFE) || (code >= 0x10800 && code <= 0x10FFF) ||
         (code >= 0x1E800 && code <= 0x1EFFF);
}

/// Letters of all other scripts; digits and signs are of no direction.
bool is_from_left(char32_t code) {
  bool const is_latin = (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
  bool const is_sign = (code >= 0x2000 && code <= 0x2BFF) || (code >= 0x3000 && code <= 0x303F) ||
                       (code >= 0xFF00 && code <= 0xFF20) || code >= 0x1F000;
  return is_latin || (code >= 0xC0 && !is_sign && !is_from_right(code));
}

/// A stretch of text that is written from the right; without bytes where there is none.
struct FromRight {
  size_t begin = 0, end = 0;
};

/// The next one from `at` on. Signs and digits between its letters are in it.
FromRight next_from_right(std::string_view text, size_t at) {
  FromRight found;
  while (at < text.size()) {
    size_t const length = base::utf8_length(text.substr(at));
    if (length == 0) break;
    char32_t const code = code_point(text.substr(at, length));
    bool const is_begun = found.end > 0;
    if (is_begun && is_from_left(code)) break;

    if (is_from_right(code)) {
      if (!is_begun) found.begin = at;
      found.end = at + length;
    }
    at += length;
  }
  return found;
}

std::string with_entities(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (char const c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }

  return result;
}

}  // namespace

std::string escape_exactly(std::string_view text, size_t limit) {
  return with_entities(shown(text, limit));
}

std::string escape(std::string_view text, size_t limit) {
  // A browser would move numbers and signs that follow such a name to its other side, unless the
  // name is isolated (U+2068 and U+2069).
  std::string const clean = shown(text, limit);
  std::string_view const all = clean;
  std::string result;
  size_t at = 0;
  for (FromRight found = next_from_right(all, at); found.end > at;
       found = next_from_right(all, at)) {
    result += with_entities(all.substr(at, found.begin - at));
    result +=
        "&#x2068;" + with_entities(all.substr(found.begin, found.end - found.begin)) + "&#x2069;";
    at = found.end;
  }

  return result + with_entities(all.substr(at));
}

std::string script_safe(std::string_view json) {
  std::string result;
  result.reserve(json.size());

  for (size_t i = 0; i < json.size(); ++i) {
    std::string_view const rest = json.substr(i, 3);
    if (json[i] == '<') {
      result += "\\u003c";
    } else if (json[i] == '>') {
      result += "\\u003e";
    } else if (json[i] == '&') {
      result += "\\u0026";
    } else if (rest == "\xE2\x80\xA8" || rest == "\xE2\x80\xA9") {
      result += rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      result += json[i];
    }
  }

  return result;
}

}  // namespace stepscope::reports
