#include "reports/html/escape.h"

#include "reports/words/labels.h"

namespace stepscope::reports {

std::string escape(std::string_view text, size_t limit) {
  std::string result;
  for (char const c : shown(text, limit)) {
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
