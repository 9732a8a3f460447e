#include "trace/base/shell_word.h"

#include <fmt/format.h>

#include "trace/base/format.h"

namespace stepscope::base {
namespace {

/// $'…': of what is neither a letter of UTF-8 nor safe between these marks, each byte in octal
/// digits, which end by themselves.
std::string escaped(std::string_view text) {
  std::string word = "$'";
  while (!text.empty()) {
    size_t const length = utf8_length(text);
    std::string_view const letter = text.substr(0, length == 0 ? 1 : length);
    bool const plain =
        length != 0 && printable(letter) == letter && letter != "'" && letter != "\\";
    for (char const byte : letter)
      word +=
          plain ? std::string(1, byte) : fmt::format("\\{:03o}", static_cast<unsigned char>(byte));
    text.remove_prefix(letter.size());
  }
  return word + "'";
}

}  // namespace

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(text);
  if (printable(text) != text) return escaped(text);
  std::string word = "'";
  for (char const byte : text) word += byte == '\'' ? std::string("'\\''") : std::string(1, byte);
  return word + "'";
}

}  // namespace stepscope::base
