#include "cli/ascii_terminal.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <unistd.h>

#include "cli/pager.h"

namespace stepscope::cli {
namespace {

struct Likeness {
  uint32_t character;
  char ascii;
};

/// The characters of our own texts.
constexpr std::array<Likeness, 37> kLikenesses = {{
    {U'–', '-'}, {U'—', '-'}, {U'−', '-'}, {U'×', 'x'},  {U'…', '~'},  {U'→', '>'}, {U'·', '|'},
    {U'Σ', 'S'}, {U'“', '"'}, {U'”', '"'}, {U'‘', '\''}, {U'’', '\''}, {U'µ', 'u'}, {U'μ', 'u'},
    {U'±', '~'}, {U'°', ' '}, {U'σ', 's'}, {U'∞', '*'},  {U'³', '3'},  {U'≥', '>'}, {U'≤', '<'},
    {U'κ', 'k'}, {U'α', 'a'}, {U'β', 'b'}, {U'█', '#'},  {U'▓', '='},  {U'▒', '+'}, {U'░', '.'},
    {U'▁', '_'}, {U'▂', '.'}, {U'▃', '-'}, {U'▄', '='},  {U'▅', '+'},  {U'▆', '*'}, {U'▇', '%'},
    {U'─', '-'}, {U'│', '|'},
}};

char likeness_of(uint32_t character) {
  auto const found =
      std::find_if(kLikenesses.begin(), kLikenesses.end(),
                   [&](Likeness const& each) { return each.character == character; });
  return found == kLikenesses.end() ? '?' : found->ascii;
}

/// How many bytes of a character follow its first one.
int following_bytes(unsigned char first) {
  if (first >= 0xF0) return 3;
  return first >= 0xE0 ? 2 : 1;
}

/// Where a stream writes in the end.
struct Target {
  AsciiText text;
  int descriptor;
};

ssize_t write_as_ascii(void* cookie, char const* bytes, size_t count) {
  auto& target = *static_cast<Target*>(cookie);
  std::string const text = target.text.add({bytes, count});
  for (size_t at = 0; at < text.size();) {
    ssize_t const written = ::write(target.descriptor, text.data() + at, text.size() - at);
    if (written <= 0) return 0;  // as fopencookie() has it: an error
    at += static_cast<size_t>(written);
  }
  return static_cast<ssize_t>(count);
}

/// The stream instead of `stream`; the same one where there is no memory for another.
FILE* in_ascii(FILE* stream, int descriptor, int buffering) {
  static std::array<Target, 2> targets;  // lives as long as the streams
  Target& target = targets[descriptor == STDOUT_FILENO ? 0 : 1];
  target.descriptor = descriptor;

  std::fflush(stream);
  FILE* const made = ::fopencookie(&target, "w", {nullptr, write_as_ascii, nullptr, nullptr});
  if (made == nullptr) return stream;
  std::setvbuf(made, nullptr, buffering, BUFSIZ);
  return made;
}

}  // namespace

void AsciiText::end_character(std::string& text) {
  text += likeness_of(std::exchange(character_, 0));
  missing_ = 0;
}

std::string AsciiText::add(std::string_view bytes) {
  std::string text;
  for (char const c : bytes) {
    auto const byte = static_cast<unsigned char>(c);
    bool const continues = (byte & 0xC0U) == 0x80;
    if (continues && missing_ > 0) {
      character_ = character_ << 6U | (byte & 0x3FU);
      if (--missing_ == 0) end_character(text);
      continue;
    }

    if (continues || missing_ > 0) {
      text += '?';
      missing_ = 0;
    }
    if (byte < 0x80) {
      text += c;
    } else if (!continues) {
      missing_ = following_bytes(byte);
      character_ = byte & (0x3FU >> static_cast<unsigned>(missing_));
    }
  }
  return text;
}

bool is_ascii_locale() {
  std::string locale;
  for (char const* const variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    char const* const value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    locale = value;
    break;
  }

  std::transform(locale.begin(), locale.end(), locale.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return !locale.empty() && locale.find("utf-8") == std::string::npos &&
         locale.find("utf8") == std::string::npos;
}

void begin_ascii_terminal() {
#ifdef __GLIBC__
  if (!is_ascii_locale()) return;
  if (is_output_terminal()) stdout = in_ascii(stdout, STDOUT_FILENO, _IOLBF);
  if (::isatty(STDERR_FILENO) == 1) stderr = in_ascii(stderr, STDERR_FILENO, _IONBF);
#endif
}

}  // namespace stepscope::cli
