#include "trace/export/chrome/json_file.h"

#include <array>
#include <charconv>
#include <cmath>

#include "trace/base/format.h"

namespace stepscope::exporting {
namespace {

template <class Number>
void append_digits(Number value, std::string& to) {
  std::array<char, 32>
      digits;  // NOLINT(cppcoreguidelines-pro-type-member-init): written before it is read
  auto const [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  to.append(digits.data(), end);
}

void append_escape(unsigned char character, std::string& to) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (character) {
    case '"':
      to += "\\\"";
      return;
    case '\\':
      to += "\\\\";
      return;
    case '\n':
      to += "\\n";
      return;
    case '\t':
      to += "\\t";
      return;

    default:
      to += "\\u00";
      to += kHex[character >> 4U];
      to += kHex[character & 0xFU];
  }
}

}  // namespace

void append_json_string(std::string_view text, std::string& to) {
  to += '"';

  while (!text.empty()) {
    auto const first = static_cast<unsigned char>(text[0]);
    size_t const length = base::utf8_length(text);
    if (first < 0x20 || first == '"' || first == '\\' || first == 0x7F) {
      append_escape(first, to);
    } else if (length == 0) {
      to += "\xEF\xBF\xBD";
    } else {
      to += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }

  to += '"';
}

void append_microseconds(int64_t ns, std::string& to) {
  if (ns < 0) to += '-';
  uint64_t const size = ns < 0 ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  constexpr uint64_t kNsPerUs = 1000;
  append_digits(size / kNsPerUs, to);
  uint64_t const rest = size % kNsPerUs;
  to += '.';
  to += static_cast<char>('0' + rest / 100);
  to += static_cast<char>('0' + rest / 10 % 10);
  to += static_cast<char>('0' + rest % 10);
}

void append_number(double value, std::string& to) {
  if (!std::isfinite(value)) {
    to += "null";
  } else {
    append_digits(value, to);
  }
}
void append_number(int64_t value, std::string& to) { append_digits(value, to); }
void append_number(uint64_t value, std::string& to) { append_digits(value, to); }

}  // namespace stepscope::exporting
