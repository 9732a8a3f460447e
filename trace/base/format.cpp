#include "trace/base/format.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace stepscope::base {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Three significant digits without scientific notation, for 0 ≤ value < 1000.
std::string three_digits(double value) {
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

/// U+202A to U+202E and U+2066 to U+2069: what follows would be shown in another order than it is
/// written.
bool is_direction_sign(std::string_view sign) {
  if (sign.size() != 3 || sign[0] != '\xE2') return false;
  auto const last = static_cast<unsigned char>(sign[2]);
  return (sign[1] == '\x80' && last >= 0xAA && last <= 0xAE) ||
         (sign[1] == '\x81' && last >= 0xA6 && last <= 0xA9);
}

}  // namespace

std::string format_duration(int64_t duration_ns) {
  if (duration_ns < 0) {
    // INT64_MIN has no positive twin.
    return "-" + format_duration(duration_ns == INT64_MIN ? INT64_MAX : -duration_ns);
  }

  auto const ns = static_cast<double>(duration_ns);
  if (duration_ns < 1000) return fmt::format("{} ns", duration_ns);
  if (ns < 999.5e3) return three_digits(ns / 1e3) + " µs";
  if (ns < 999.5e6) return three_digits(ns / 1e6) + " ms";
  if (ns < 119.95e9) return three_digits(ns / 1e9) + " s";

  int64_t const seconds =
      duration_ns / 1'000'000'000 + (duration_ns % 1'000'000'000 >= 500'000'000 ? 1 : 0);
  if (seconds < 7200) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {} min", seconds / 3600, seconds % 3600 / 60);
}

std::string format_bytes(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  static constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return three_digits(value) + " " + kUnits[unit];
}

std::string format_bandwidth(double bytes_per_second) {
  if (!std::isfinite(bytes_per_second)) return "n/a";
  if (bytes_per_second < 999.5e6) return fmt::format("{:.1f} MB/s", bytes_per_second / 1e6);
  return fmt::format("{} GB/s", bytes_per_second < 999.5e9
                                    ? three_digits(bytes_per_second / 1e9)
                                    : fmt::format("{:.0f}", bytes_per_second / 1e9));
}

std::string format_share(double fraction) {
  if (!std::isfinite(fraction)) return "n/a";
  return fmt::format("{:.1f} %", fraction * 100);
}

std::string format_significant(double value, int digits) {
  if (!std::isfinite(value)) return "n/a";
  double const size = std::abs(value);
  constexpr double kLeast = 1e-4, kMost = 1e18;  // beyond, the format has a power of ten
  if (size < kLeast) return "0";
  if (size < std::pow(10, digits) - 0.5) return fmt::format("{:.{}g}", value, digits);
  return (value < 0 ? "-" : "") +
         format_count(static_cast<uint64_t>(std::llround(std::min(size, kMost))));
}

std::string format_count(uint64_t count) {
  std::string digits = std::to_string(count);
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string format_count(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", format_count(count), noun, count == 1 ? "" : "s");
}

namespace {

/// "entries" → "entry", "ranges" → "range"; a word without a plural stays.
std::string singular_noun(std::string_view word) {
  if (word.ends_with("ies")) return std::string(word.substr(0, word.size() - 3)) + "y";
  return std::string(word.ends_with('s') && !word.ends_with("ss") ? word.substr(0, word.size() - 1)
                                                                  : word);
}

/// The verbs and pronouns that such sentences have.
std::string singular_word(std::string_view word) {
  struct Pair {
    std::string_view many, one;
  };
  constexpr std::array kPairs = {
      Pair{"are", "is"},   Pair{"were", "was"},     Pair{"have", "has"},   Pair{"do", "does"},
      Pair{"lie", "lies"}, Pair{"claim", "claims"}, Pair{"hold", "holds"}, Pair{"refer", "refers"},
      Pair{"they", "it"},  Pair{"their", "its"}};

  if (word == "end;") return "ends;";  // "the end of" is no verb

  size_t const letters = std::min(word.find_first_of(",;:."), word.size());
  for (Pair const& pair : kPairs)
    if (pair.many == word.substr(0, letters))
      return std::string(pair.one) + std::string(word.substr(letters));
  return std::string(word);
}

}  // namespace

std::string count_sentence(uint64_t count, std::string_view about_many) {
  if (count != 1) return fmt::format("{} {}", count, about_many);

  std::string text = "1";
  // Behind a colon is why, or about something else.
  size_t const clause = std::min(about_many.find(": "), about_many.size());
  bool has_verb = false;
  std::string_view before;

  for (size_t begin = 0; begin < clause;) {
    size_t const end = std::min(about_many.find(' ', begin), clause);
    std::string_view const word = about_many.substr(begin, end - begin);
    // Verbs further on are of other subjects: "to ids that have one", "that were lost".
    bool const is_of_subject =
        !has_verb || before == "and" || before == "they" || word == "they" || word == "their";
    std::string const one = is_of_subject ? singular_word(word) : std::string(word);
    text += ' ' + (begin == 0 ? singular_noun(word) : one);
    has_verb = has_verb || one != word;
    before = word;
    begin = end + 1;
  }

  std::string_view const rest = about_many.substr(clause);
  constexpr std::string_view kTheyAre = ": they are";
  return rest.starts_with(kTheyAre) ? text.append(": it is").append(rest.substr(kTheyAre.size()))
                                    : text.append(rest);
}

namespace {

/// Bytes of a character of several bytes that begins with `first`; 0: no character does.
size_t length_of_lead_byte(unsigned char first) {
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  if (first >= 0xF0 && first <= 0xF4) return 4;
  return 0;
}

}  // namespace

size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  auto const byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };

  unsigned char const first = byte(0);
  if (first < 0x80) return 1;
  size_t const length = length_of_lead_byte(first);
  if (length == 0 || length > text.size()) return 0;

  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;

  bool const overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  bool const surrogate = first == 0xED && byte(1) >= 0xA0;
  bool const too_large = first == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

std::string valid_utf8(std::string_view text, size_t most) {
  std::string result;
  while (!text.empty()) {
    size_t const length = utf8_length(text);
    std::string_view const character = length == 0 ? kReplacement : text.substr(0, length);
    if (result.size() + character.size() > most) break;
    result += character;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());

  while (!text.empty()) {
    size_t const length = utf8_length(text);

    bool const control =
        length == 1 && (static_cast<unsigned char>(text[0]) < 0x20 || text[0] == 0x7F);
    bool const c1_control =
        length == 2 && text[0] == '\xC2' && static_cast<unsigned char>(text[1]) < 0xA0;
    bool const replaced =
        length == 0 || control || c1_control || is_direction_sign(text.substr(0, length));

    result += replaced ? kReplacement : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

}  // namespace stepscope::base
