#include "reports/words/language.h"

#include <nlohmann/json.hpp>

#include "reports/words/assets.h"
#include "trace/base/check.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

thread_local Language spoken_language = Language::kEnglish;

struct Catalogues {
  Catalogue program, script;
};

/// The file is part of the program: a broken one is a fault of the build, which its tests find.
Catalogues read_catalogues(std::string_view text) {
  auto const json = nlohmann::json::parse(text, nullptr, false);
  STEPSCOPE_CHECK(json.is_object());
  Catalogues read;
  for (auto const& [english, translation] : json.at("program").items())
    read.program.emplace(english, translation.get<std::string>());
  for (auto const& [english, translation] : json.at("script").items())
    read.script.emplace(english, translation.get<std::string>());
  return read;
}

Catalogues const& catalogues_of(Language language) {
  static Catalogues const none;
  if (language == Language::kEnglish) return none;
  static Catalogues const chinese = read_catalogues(chinese_words());
  return chinese;
}

}  // namespace

std::optional<Language> language_of(std::string_view name) {
  if (name == "en") return Language::kEnglish;
  return name == "zh" ? std::optional(Language::kChinese) : std::nullopt;
}

Language language() { return spoken_language; }

std::string_view html_language() { return spoken_language == Language::kChinese ? "zh-CN" : "en"; }

ScopedLanguage::ScopedLanguage(Language language) : before_(spoken_language) {
  spoken_language = language;
}
ScopedLanguage::~ScopedLanguage() { spoken_language = before_; }

std::string_view tr(std::string_view english) {
  if (spoken_language == Language::kEnglish) return english;
  Catalogue const& words = catalogue(spoken_language);
  auto const found = words.find(english);
  return found == words.end() ? english : std::string_view(found->second);
}

std::string counted(uint64_t count, std::string_view noun) {
  if (spoken_language == Language::kEnglish) return base::format_count(count, noun);
  std::string const number = base::format_count(count), english = fmt::format("{{}} {}", noun);
  return fmt::vformat(std::string(tr(english)), fmt::make_format_args(number));
}

Catalogue const& catalogue(Language language) { return catalogues_of(language).program; }
Catalogue const& script_catalogue(Language language) { return catalogues_of(language).script; }

}  // namespace stepscope::reports
