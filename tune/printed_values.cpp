#include "tune/printed_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace stepscope::tune {
namespace {

bool is_word_byte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '_';
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return lower;
}

/// The number behind a word of a line; both in small letters.
std::optional<double> number_behind(std::string_view line, std::string_view word) {
  for (size_t place = line.find(word); place != std::string_view::npos;
       place = line.find(word, place + 1)) {
    if (place > 0 && is_word_byte(line[place - 1])) continue;
    std::string_view rest = line.substr(place + word.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t:=\"'#["), rest.size()));

    double value = 0;
    auto const [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error == std::errc() && std::isfinite(value)) return value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> printed_value(std::string_view output, std::string_view name,
                                    std::optional<int64_t> step) {
  std::string const word = lower_case(name);
  std::optional<double> found;
  if (word.empty()) return found;

  while (!output.empty()) {
    size_t const end = std::min(output.find('\n'), output.size());
    std::string const line = lower_case(output.substr(0, end));
    output.remove_prefix(std::min(end + 1, output.size()));

    auto const value = number_behind(line, word);
    bool const is_of_step = !step || number_behind(line, "step") == static_cast<double>(*step);
    if (value && is_of_step) found = value;
  }
  return found;
}

}  // namespace stepscope::tune
