#include "trace/base/terminal/text_width.h"

#include <algorithm>

#include <locale.h>
#include <wchar.h>

#include "trace/base/format.h"

namespace stepscope::base {
namespace {

/// The thread speaks UTF-8 for as long as this lives, whatever the program's language.
class Utf8Locale {
 public:
  Utf8Locale() {
    static locale_t const utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (utf8 != nullptr) before_ = ::uselocale(utf8);
  }
  ~Utf8Locale() {
    if (before_ != nullptr) ::uselocale(before_);
  }
  Utf8Locale(Utf8Locale const&) = delete;
  Utf8Locale& operator=(Utf8Locale const&) = delete;

  /// 1 for each character where the system has no such tables.
  [[nodiscard]] size_t columns_of(char32_t character) const {
    int const columns = before_ == nullptr ? 1 : ::wcwidth(static_cast<wchar_t>(character));
    return columns < 0 ? 1 : static_cast<size_t>(columns);
  }

 private:
  locale_t before_ = nullptr;
};

struct Character {
  char32_t value = 0;
  size_t bytes = 1;
};

/// The first character; a byte that begins none stands for itself.
Character first_character(std::string_view text) {
  size_t const length = utf8_length(text);
  auto const byte = [&](size_t at) -> unsigned { return static_cast<unsigned char>(text[at]); };
  if (length < 2) return {byte(0), 1};

  unsigned const bits_of_first = 0x7FU >> length;
  char32_t value = byte(0) & bits_of_first;
  for (size_t at = 1; at < length; ++at) value = value << 6U | (byte(at) & 0x3FU);
  return {value, length};
}

bool is_ascii(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

}  // namespace

size_t columns_of(std::string_view text) {
  if (is_ascii(text)) return text.size();

  Utf8Locale const utf8;
  size_t columns = 0;
  while (!text.empty()) {
    Character const character = first_character(text);
    columns += utf8.columns_of(character.value);
    text.remove_prefix(character.bytes);
  }
  return columns;
}

std::string cut_to_columns(std::string_view text, size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);

  Utf8Locale const utf8;
  size_t taken = 1, bytes = 0;  // one for the sign
  while (bytes < text.size()) {
    Character const next = first_character(text.substr(bytes));
    taken += utf8.columns_of(next.value);
    if (taken > columns) break;
    bytes += next.bytes;
  }
  return std::string(text.substr(0, bytes)) + "…";
}

}  // namespace stepscope::base
