// An SQL text as a list of words, numbers, texts and signs: as much as rewriting a simple statement
// needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace stepscope::query {

struct Token {
  enum class Type : uint8_t { kWord, kQuotedWord, kNumber, kText, kSign };
  Type type;
  std::string_view text;  ///< as it stands in the SQL

  /// A word, whatever its case.
  [[nodiscard]] bool is(std::string_view word) const;
  [[nodiscard]] bool is_sign(char sign) const {
    return type == Type::kSign && text.size() == 1 && text[0] == sign;
  }
};

/// Without blanks and comments. Nothing when there is something unusual: parameters, blobs,
/// brackets, other bytes.
std::optional<std::vector<Token>> tokens_of(std::string_view sql);

/// Equal but for the case of ASCII letters.
bool equal_words(std::string_view a, std::string_view b);

}  // namespace stepscope::query
