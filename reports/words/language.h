// The language of reports. Sources have the English text: tr("…") and tr("… {} …", number). Another
// language is a catalogue, reports/words/LANGUAGE.json, that maps English to its words.
// Placeholders there have numbers, since word order differs: "{0} of {1}" → "{1} 的 {0}".
// tests/check_words.py finds each sentence without a translation.
// docs/design/decisions/0023-languages.md
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace stepscope::reports {

enum class Language : uint8_t { kEnglish, kChinese };

/// Language for "en" or "zh"; nothing for other names.
std::optional<Language> language_of(std::string_view name);
/// Language of this thread: English, unless a ScopedLanguage sets another one.
Language language();
/// The same as HTML names it: "en", "zh-CN".
std::string_view html_language();

/// Sets the language of this thread while it lives. Only HTML pages use it: texts and JSON are
/// English.
class ScopedLanguage {
 public:
  explicit ScopedLanguage(Language language);
  ~ScopedLanguage();
  ScopedLanguage(ScopedLanguage const&) = delete;
  ScopedLanguage& operator=(ScopedLanguage const&) = delete;

 private:
  Language before_;
};

/// The text in the language; what its catalogue does not have, such as text of a trace, stays as it
/// is.
std::string_view tr(std::string_view english);

/// The sentence in the language with its arguments. The compiler checks the English one, tests the
/// others (language_test.cpp).
template <class... T>
requires(sizeof...(T) > 0) std::string tr(fmt::format_string<T...> english, T&&... arguments) {
  fmt::string_view const text = english;
  std::string_view const translation = tr(std::string_view(text.data(), text.size()));
  return fmt::vformat(fmt::string_view(translation.data(), translation.size()),
                      fmt::make_format_args(arguments...));
}

/// "1 rank", "1,234 ranks"; catalogues have the noun as "{} rank".
std::string counted(uint64_t count, std::string_view noun);

/// English → the language's words: of the program and, apart, of the page's script. English has
/// none.
using Catalogue = std::map<std::string, std::string, std::less<>>;
Catalogue const& catalogue(Language language);
Catalogue const& script_catalogue(Language language);

}  // namespace stepscope::reports
