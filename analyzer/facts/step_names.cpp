#include "analyzer/facts/step_names.h"

#include <array>
#include <cctype>
#include <charconv>

namespace stepscope::analyzer {
namespace {

constexpr std::array<std::string_view, 3> kPrefixes = {"profiler", "training", "train"};
constexpr std::array<std::string_view, 3> kWords = {"iteration", "step", "iter"};
constexpr std::string_view kSeparators = " _#:=-";

bool take(std::string_view& text, std::string_view word) {
  if (text.size() < word.size()) return false;
  for (size_t i = 0; i < word.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(text[i])) != word[i]) return false;
  text.remove_prefix(word.size());
  return true;
}

void skip_separators(std::string_view& text) {
  size_t const end = text.find_first_not_of(kSeparators);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end);
}

}  // namespace

std::optional<int64_t> step_number(std::string_view name) {
  for (std::string_view const prefix : kPrefixes)
    if (take(name, prefix)) break;
  skip_separators(name);
  bool found = false;
  for (std::string_view const word : kWords) {
    found = take(name, word);
    if (found) break;
  }
  if (!found) return std::nullopt;
  skip_separators(name);
  int64_t number = 0;
  auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace stepscope::analyzer
