#include "query/tokens.h"

#include <algorithm>

namespace stepscope::query {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_letter(char c) { return (lower(c) >= 'a' && lower(c) <= 'z') || c == '_'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

/// Length of what stands at the begin and is no token: a blank, a comment; 0 = neither.
size_t gap_length(std::string_view sql) {
  if (is_blank(sql.front())) return 1;
  if (sql.starts_with("--")) return std::min(sql.find('\n'), sql.size());
  if (sql.starts_with("/*")) {
    size_t const end = sql.find("*/", 2);
    return end == std::string_view::npos ? sql.size() : end + 2;
  }
  return 0;
}

template <class Is>
size_t run_length(std::string_view text, Is const& is) {
  return static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is) - text.begin());
}

/// '…' with '' inside, "…" with "" inside; 0 = it does not end.
size_t quoted_length(std::string_view sql) {
  char const quote = sql.front();
  for (size_t at = 1; at < sql.size(); ++at) {
    if (sql[at] != quote) continue;
    if (at + 1 == sql.size() || sql[at + 1] != quote) return at + 1;
    ++at;
  }
  return 0;
}

/// 12, 1.5, .5, 1e-3; 0 = something else that begins like a number (0x12, 12abc).
size_t number_length(std::string_view sql) {
  size_t length = run_length(sql, [](char c) { return is_digit(c) || c == '.'; });
  if (length < sql.size() && lower(sql[length]) == 'e') {
    size_t exponent = length + 1;
    if (exponent < sql.size() && (sql[exponent] == '+' || sql[exponent] == '-')) ++exponent;
    size_t const digits = run_length(sql.substr(exponent), is_digit);
    if (digits == 0) return 0;
    length = exponent + digits;
  }

  return length < sql.size() &&
                 (is_letter(sql[length]) || static_cast<unsigned char>(sql[length]) >= 0x80)
             ? 0
             : length;
}

size_t sign_length(std::string_view sql) {
  for (std::string_view const sign : {"<=", ">=", "<>", "!=", "==", "||", "<<", ">>"})
    if (sql.starts_with(sign)) return 2;
  return std::string_view("()+-*/%,;=<>&|~").find(sql.front()) == std::string_view::npos ? 0 : 1;
}

}  // namespace

bool equal_words(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

bool Token::is(std::string_view word) const {
  return type == Type::kWord && equal_words(text, word);
}

std::optional<std::vector<Token>> tokens_of(std::string_view sql) {
  std::vector<Token> tokens;
  while (!sql.empty()) {
    if (size_t const gap = gap_length(sql); gap > 0) {
      sql.remove_prefix(gap);
      continue;
    }

    char const first = sql.front();
    bool const begins_number =
        is_digit(first) || (first == '.' && sql.size() > 1 && is_digit(sql[1]));

    Token::Type type = Token::Type::kSign;
    size_t length = 0;

    if (is_letter(first)) {
      type = Token::Type::kWord;
      length = run_length(sql, [](char c) { return is_letter(c) || is_digit(c); });
      bool const goes_on = length < sql.size() && (sql[length] == '\'' || sql[length] == '$' ||
                                                   static_cast<unsigned char>(sql[length]) >= 0x80);
      if (goes_on) return std::nullopt;
    } else if (begins_number) {
      type = Token::Type::kNumber;
      length = number_length(sql);
    } else if (first == '\'' || first == '"') {
      type = first == '"' ? Token::Type::kQuotedWord : Token::Type::kText;
      length = quoted_length(sql);
    } else {
      length = sign_length(sql);
    }

    if (length == 0) return std::nullopt;
    tokens.push_back({type, sql.substr(0, length)});
    sql.remove_prefix(length);
  }

  return tokens;
}

}  // namespace stepscope::query
