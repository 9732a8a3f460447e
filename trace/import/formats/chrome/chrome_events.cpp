#include "trace/import/formats/chrome/chrome_events.h"

#include <charconv>
#include <cmath>

namespace stepscope::import {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

size_t skip_spaces(std::string_view text, size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

constexpr double kNsPerUs = 1000;
constexpr double kLargest = 9.2e18;

/// With an exponent, which no tool writes that has digits to lose.
std::optional<int64_t> parse_inexactly(std::string_view number) {
  double value = 0;
  auto const [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  double const ns = value * kNsPerUs;
  if (error != std::errc() || end != number.data() + number.size() || !(std::fabs(ns) < kLargest))
    return std::nullopt;
  return std::llround(ns);
}

}  // namespace

size_t next_cut(std::string_view text, size_t from) {
  for (size_t close = text.find('}', from); close != std::string_view::npos;
       close = text.find('}', close + 1)) {
    size_t const comma = skip_spaces(text, close + 1);
    if (comma < text.size() && text[comma] == ']') return close + 1;
    if (comma >= text.size() || text[comma] != ',') continue;
    size_t const open = skip_spaces(text, comma + 1);
    if (open < text.size() && text[open] == '{') return close + 1;
  }
  return std::string_view::npos;
}

std::optional<int64_t> parse_microseconds(std::string_view number) {
  constexpr size_t kMostDigits = 16;
  constexpr int64_t kMostUs = 9'200'000'000'000'000;

  size_t const first = !number.empty() && number[0] == '-' ? 1 : 0;
  size_t at = first;

  int64_t ns = 0;  // µs so far
  for (; at < number.size() && is_digit(number[at]) && at - first <= kMostDigits; ++at)
    ns = ns * 10 + (number[at] - '0');
  if (at == first || at - first > kMostDigits || ns > kMostUs) return parse_inexactly(number);

  ns *= 1000;
  if (at < number.size() && number[at] == '.') {
    ++at;
    int64_t unit = 100;
    for (; at < number.size() && is_digit(number[at]) && unit > 0; ++at, unit /= 10)
      ns += (number[at] - '0') * unit;
    if (at < number.size() && is_digit(number[at])) {
      if (number[at] >= '5') ++ns;
      while (at < number.size() && is_digit(number[at])) ++at;
    }
  }

  if (at != number.size()) return parse_inexactly(number);
  return first == 1 ? -ns : ns;
}

}  // namespace stepscope::import
