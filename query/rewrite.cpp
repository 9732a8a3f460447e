#include "query/rewrite.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "query/tokens.h"

namespace stepscope::query {
namespace {

using Type = Token::Type;
using Tokens = std::span<Token const>;
using Words = std::span<std::string_view const>;

/// Words of expressions that mean the same over groups as over rows.
constexpr std::array<std::string_view, 26> kKeywords = {
    "and",  "or",      "not",   "in",   "is",   "null",  "notnull", "isnull", "like",
    "glob", "between", "case",  "when", "then", "else",  "end",     "as",     "asc",
    "desc", "nulls",   "first", "last", "true", "false", "offset",  "by"};
/// Functions of one row that are not aggregates whatever their number of arguments; min and max of
/// one column are taken before.
constexpr std::array<std::string_view, 24> kFunctions = {
    "substr", "substring", "lower", "upper",  "length",  "round",   "abs",   "coalesce",
    "ifnull", "nullif",    "iif",   "instr",  "replace", "trim",    "ltrim", "rtrim",
    "printf", "format",    "cast",  "typeof", "hex",     "unicode", "min",   "max"};
constexpr std::array<std::string_view, 8> kCastTypes = {"integer", "int",    "real",    "text",
                                                        "float",   "double", "numeric", "varchar"};
/// A column with as many values as there are events, more or less: no key of groups.
constexpr std::array<std::string_view, 6> kNoLabels = {"start_ns", "end_ns",    "dur_ns",
                                                       "id",       "linked_id", "correlation"};
constexpr std::array<std::string_view, 3> kTimes = {"start_ns", "end_ns", "dur_ns"};

bool is_one_of(Token const& token, Words words) {
  return token.type == Type::kWord &&
         std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return equal_words(word, token.text); });
}
bool contains(Words words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// +1 at what opens, −1 at what closes.
int nesting(Token const& token) {
  if (token.is_sign('(') || token.is("case")) return 1;
  return token.is_sign(')') || token.is("end") ? -1 : 0;
}

/// Cut at every token outside of parentheses that `is_cut` holds for.
template <class IsCut>
std::vector<Tokens> split(Tokens tokens, IsCut const& is_cut) {
  std::vector<Tokens> parts;
  size_t begin = 0;
  int depth = 0;

  for (size_t i = 0; i < tokens.size(); ++i) {
    depth += nesting(tokens[i]);
    if (depth != 0 || !is_cut(tokens[i])) continue;
    parts.push_back(tokens.subspan(begin, i - begin));
    begin = i + 1;
  }

  parts.push_back(tokens.subspan(begin));
  return parts;
}
std::vector<Tokens> split_list(Tokens tokens) {
  return split(tokens, [](Token const& token) { return token.is_sign(','); });
}
/// The AND of "BETWEEN low AND high" joins no conditions.
std::vector<Tokens> split_conditions(Tokens tokens) {
  bool between = false;
  return split(tokens, [&](Token const& token) {
    between = between || token.is("between");
    return token.is("and") && !std::exchange(between, false);
  });
}

/// As SQL has it: from the first token to the last.
std::string_view text_of_tokens(Tokens tokens) {
  char const* const begin = tokens.front().text.data();
  return {begin,
          static_cast<size_t>(tokens.back().text.data() + tokens.back().text.size() - begin)};
}

bool equal_tokens(Tokens a, Tokens b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](Token const& x, Token const& y) {
    return x.type == y.type &&
           (x.type == Type::kWord ? equal_words(x.text, y.text) : x.text == y.text);
  });
}

/// The parts of a statement, in the order in which they must come.
enum Clause : size_t { kSelect, kFrom, kWhere, kGroup, kHaving, kOrder, kLimit, kClauseCount };
constexpr std::array<std::string_view, kClauseCount> kClauseWords = {
    "select", "from", "where", "group", "having", "order", "limit"};
using Clauses = std::array<std::optional<Tokens>, kClauseCount>;

/// Each at most once, SELECT and FROM there. GROUP BY and ORDER BY without their BY.
std::optional<Clauses> clauses_of(Tokens tokens) {
  if (tokens.empty() || !tokens.front().is(kClauseWords[kSelect])) return std::nullopt;
  if (tokens.back().is_sign(';')) tokens = tokens.first(tokens.size() - 1);

  Clauses clauses;
  int depth = 0;
  size_t begin = 0;
  std::optional<size_t> current;

  for (size_t i = 0; i <= tokens.size(); ++i) {
    bool const at_end = i == tokens.size();
    if (!at_end) depth += nesting(tokens[i]);
    auto const word = at_end ? kClauseWords.end()
                             : std::find_if(kClauseWords.begin(), kClauseWords.end(),
                                            [&](auto w) { return tokens[i].is(w); });
    if (!at_end && word == kClauseWords.end()) continue;

    auto const clause = static_cast<size_t>(word - kClauseWords.begin());
    if (depth != 0 || (!current ? clause != kSelect : clause <= *current)) return std::nullopt;
    if (current) clauses[*current] = tokens.subspan(begin, i - begin);
    current = clause;

    bool const has_by = clause == kGroup || clause == kOrder;
    if (has_by && (i + 1 >= tokens.size() || !tokens[i + 1].is("by"))) return std::nullopt;
    begin = i + (has_by ? 2 : 1);
    if (has_by) ++i;
  }

  for (auto const& clause : clauses)
    if (clause && clause->empty()) return std::nullopt;
  if (!clauses[kSelect] || !clauses[kFrom]) return std::nullopt;
  return clauses;
}

/// A whole number, also written as 1e6.
std::optional<int64_t> whole_number(Token const& token) {
  if (token.type != Type::kNumber) return std::nullopt;
  char const* const end = token.text.data() + token.text.size();
  int64_t number = 0;

  if (auto const [last, error] = std::from_chars(token.text.data(), end, number);
      error == std::errc() && last == end)
    return number;

  double value = 0;
  constexpr double kExact = 9e15;  // below 2^53
  auto const [last, error] = std::from_chars(token.text.data(), end, value);
  if (error != std::errc() || last != end || value != std::floor(value) || value > kExact)
    return std::nullopt;

  return static_cast<int64_t>(value);
}

class Rewriter {
 public:
  Rewriter(Clauses const& clauses, std::string_view group_table)
      : clauses_(clauses), group_table_(group_table) {}
  std::optional<Rewritten> run();

 private:
  struct Item {
    Tokens body;
    std::optional<std::string_view> alias;
    std::optional<size_t> column;  ///< it is nothing but this column
    bool is_key = false;           ///< GROUP BY names it: the same in all rows of a group
  };
  /// Where an expression stands: what it may hold.
  enum class Place : uint8_t { kItem, kKey, kCondition, kOrder };

  bool find_table();
  bool read_items();
  bool read_group();
  [[nodiscard]] bool is_named(Item const& item, size_t place, Tokens key) const;
  bool write_items();
  bool write_where();
  bool write_clause(Clause clause, std::string_view words, Place place);
  bool take_time_condition(Tokens condition);
  bool write(Tokens tokens, Place place);
  bool write_word(Tokens tokens, size_t& at, Place place);
  bool write_aggregate(Tokens tokens, size_t& at);
  bool write_column(size_t column, Place place);

  [[nodiscard]] std::optional<size_t> column_of(Token const& token) const;
  [[nodiscard]] bool is_label(size_t column) const {
    return !contains(kNoLabels, plan_.table->columns[column].name);
  }
  [[nodiscard]] bool is_alias(Token const& token) const;
  static void add_once(std::vector<size_t>& columns, size_t column) {
    if (std::find(columns.begin(), columns.end(), column) == columns.end())
      columns.push_back(column);
  }

  Clauses clauses_;
  std::string_view group_table_;
  GroupPlan plan_;
  std::vector<Item> items_;
  bool distinct_ = false;
  bool aggregates_ = false;
  std::vector<size_t> group_;  ///< columns of GROUP BY
  std::string sql_;
};

std::optional<size_t> Rewriter::column_of(Token const& token) const {
  if (token.type != Type::kWord) return std::nullopt;
  auto const& columns = plan_.table->columns;
  auto const found = std::find_if(columns.begin(), columns.end(), [&](auto const& column) {
    return equal_words(column.name, token.text);
  });
  return found == columns.end() ? std::nullopt
                                : std::optional(static_cast<size_t>(found - columns.begin()));
}

bool Rewriter::is_alias(Token const& token) const {
  return std::any_of(items_.begin(), items_.end(), [&](Item const& item) {
    return item.alias && equal_words(*item.alias, token.text);
  });
}

bool Rewriter::find_table() {
  if (clauses_[kFrom]->size() != 1) return false;
  for (model::TraceTable const& table : model::trace_tables())
    if (table.rows == model::TableRows::kEvents && clauses_[kFrom]->front().is(table.name))
      plan_.table = &table;
  return plan_.table != nullptr;
}

bool Rewriter::read_items() {
  Tokens list = *clauses_[kSelect];
  distinct_ = list.front().is("distinct");
  if (distinct_) list = list.subspan(1);
  for (Tokens body : split_list(list)) {
    if (body.empty()) return false;
    Item item{body, std::nullopt, std::nullopt};
    size_t const size = body.size();
    bool const has_as = size >= 3 && body[size - 2].is("as");

    // "count(*) n": a word behind the end of an expression.
    bool const bare = !has_as && size >= 2 && body[size - 1].type == Type::kWord &&
                      !is_one_of(body[size - 1], kKeywords) &&
                      (body[size - 2].is_sign(')') || body[size - 2].type == Type::kNumber ||
                       column_of(body[size - 2]));

    if (has_as || bare) {
      Token const& alias = body.back();
      if (alias.type != Type::kWord && alias.type != Type::kQuotedWord) return false;
      if (column_of(alias) || is_one_of(alias, kKeywords)) return false;
      item = {body.first(size - (has_as ? 2 : 1)), alias.text, std::nullopt};
    }

    if (item.body.size() == 1) item.column = column_of(item.body.front());
    items_.push_back(item);
  }

  return true;
}

/// GROUP BY of columns, of expressions of them, and of items by their place or alias.
bool Rewriter::read_group() {
  if (!clauses_[kGroup]) return true;
  for (Tokens const key : split_list(*clauses_[kGroup])) {
    if (key.empty()) return false;

    bool by_name = false;
    for (size_t i = 0; i < items_.size(); ++i) {
      bool const same_words = equal_tokens(key, items_[i].body);
      if (!same_words && (by_name || !is_named(items_[i], i + 1, key))) continue;
      by_name = by_name || !same_words;
      items_[i].is_key = true;
      if (items_[i].column) group_.push_back(*items_[i].column);
    }

    if (key.size() == 1)
      if (auto const column = column_of(key.front())) group_.push_back(*column);
  }

  return true;
}

/// Whether a key of GROUP BY is an item's place or alias.
bool Rewriter::is_named(Item const& item, size_t place, Tokens key) const {
  if (key.size() != 1) return false;
  if (key.front().type == Type::kNumber) return key.front().text == std::to_string(place);
  return !column_of(key.front()) && item.alias && equal_words(*item.alias, key.front().text);
}

bool Rewriter::write_column(size_t column, Place place) {
  if (!is_label(column)) return false;
  bool const any_row_will_do =
      place == Place::kCondition || place == Place::kKey || (distinct_ && !clauses_[kGroup]);
  if (!any_row_will_do && std::find(group_.begin(), group_.end(), column) == group_.end())
    return false;
  add_once(plan_.keys, column);
  sql_ += quoted_identifier(plan_.table->columns[column].name) + " ";
  return true;
}

/// count(*), or a sum of one column: `at` is its name, and then its closing parenthesis. False: it
/// is something else.
bool Rewriter::write_aggregate(Tokens tokens, size_t& at) {
  if (at + 3 >= tokens.size() || !tokens[at + 1].is_sign('(') || !tokens[at + 3].is_sign(')'))
    return false;

  Token const& function = tokens[at];
  if (function.is("count") && tokens[at + 2].is_sign('*')) {
    sql_ += "ifnull(sum(" + quoted_identifier(kCountColumn) + "),0) ";
  } else {
    auto const column = column_of(tokens[at + 2]);
    if (!column || plan_.table->columns[*column].type == model::ColumnType::kText) return false;
    auto const sum = [&](Sum what) {
      return quoted_identifier(sum_column(what, plan_.table->columns[*column].name));
    };

    if (function.is("count"))
      sql_ += "ifnull(sum(" + sum(Sum::kCount) + "),0) ";
    else if (function.is("sum"))
      sql_ += "sum(" + sum(Sum::kSum) + ") ";
    else if (function.is("total"))
      sql_ += "total(" + sum(Sum::kSum) + ") ";
    else if (function.is("avg"))
      sql_ += "(total(" + sum(Sum::kSum) + ")/sum(" + sum(Sum::kCount) + ")) ";
    else if (function.is("min"))
      sql_ += "min(" + sum(Sum::kMin) + ") ";
    else if (function.is("max"))
      sql_ += "max(" + sum(Sum::kMax) + ") ";
    else
      return false;
    add_once(plan_.measures, *column);
  }

  aggregates_ = true;
  at += 3;
  return true;
}

bool Rewriter::write_word(Tokens tokens, size_t& at, Place place) {
  Token const& word = tokens[at];
  bool const may_sum = place == Place::kItem || place == Place::kOrder;
  if (may_sum && write_aggregate(tokens, at)) return true;

  bool const called = at + 1 < tokens.size() && tokens[at + 1].is_sign('(');
  bool const type_of_cast = at > 0 && tokens[at - 1].is("as") && is_one_of(word, kCastTypes);
  if (is_one_of(word, kKeywords) || type_of_cast || (called && is_one_of(word, kFunctions))) {
    sql_ += std::string(word.text) + " ";
    return true;
  }

  if (called) return false;
  if (auto const column = column_of(word)) return write_column(*column, place);
  if (place == Place::kCondition || place == Place::kItem || !is_alias(word)) return false;
  sql_ += std::string(word.text) + " ";
  return true;
}

bool Rewriter::write(Tokens tokens, Place place) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    Token const& token = tokens[i];
    if (token.type == Type::kQuotedWord) return false;
    if (token.type == Type::kWord) {
      if (!write_word(tokens, i, place)) return false;
      continue;
    }

    // All columns: not the product that has something in front.
    if (token.is_sign('*') && (i == 0 || tokens[i - 1].is_sign('(') || tokens[i - 1].is_sign(',')))
      return false;
    sql_ += std::string(token.text) + " ";
  }

  return true;
}

bool Rewriter::write_items() {
  sql_ = distinct_ ? "SELECT DISTINCT " : "SELECT ";
  for (size_t i = 0; i < items_.size(); ++i) {
    Item const& item = items_[i];
    if (i > 0) sql_ += ", ";
    if (!write(item.body, item.is_key ? Place::kKey : Place::kItem)) return false;

    // The heading that it would have.
    if (item.alias)
      sql_ += "AS " + std::string(*item.alias) + " ";
    else if (!item.column)
      sql_ += "AS " + quoted_identifier(text_of_tokens(item.body)) + " ";
  }

  sql_ += "FROM " + quoted_identifier(group_table_) + " ";
  return true;
}

/// "start_ns >= 1000", "dur_ns between 10 and 20": rows are chosen before they are summed.
bool Rewriter::take_time_condition(Tokens condition) {
  if (condition.size() < 3) return false;
  auto const column = column_of(condition[0]);
  if (!column || !contains(kTimes, plan_.table->columns[*column].name)) return false;
  std::string_view const name = plan_.table->columns[*column].name;
  EventFilter::Range& range = plan_.filter.range_of(name);

  auto const number = whole_number(condition[2]);
  if (!number) return false;
  auto const at_least = [&](int64_t low) { range.low = std::max(range.low, low); };
  auto const at_most = [&](int64_t high) { range.high = std::min(range.high, high); };

  if (condition.size() == 5 && condition[1].is("between") && condition[3].is("and")) {
    auto const high = whole_number(condition[4]);
    if (!high) return false;
    at_least(*number);
    at_most(*high);
    return true;
  }

  if (condition.size() != 3 || *number == INT64_MAX) return false;
  std::string_view const op = condition[1].text;
  if (op == ">" || op == ">=") at_least(op == ">" ? *number + 1 : *number);
  if (op == "<" || op == "<=") at_most(op == "<" ? *number - 1 : *number);
  if (op == "=" || op == "==") {
    at_least(*number);
    at_most(*number);
  }
  return contains(std::array<std::string_view, 6>{">", ">=", "<", "<=", "=", "=="}, op);
}

bool Rewriter::write_where() {
  if (!clauses_[kWhere]) return true;
  bool const any =
      split(*clauses_[kWhere], [](Token const& token) { return token.is("or"); }).size() > 1;
  auto const conditions =
      any ? std::vector<Tokens>{*clauses_[kWhere]} : split_conditions(*clauses_[kWhere]);

  std::string_view before = "WHERE ";
  for (Tokens const condition : conditions) {
    if (condition.empty()) return false;
    if (take_time_condition(condition)) continue;
    sql_ += std::string(before) + "( ";
    if (!write(condition, Place::kCondition)) return false;
    sql_ += ") ";
    before = "AND ";
  }

  return true;
}

bool Rewriter::write_clause(Clause clause, std::string_view words, Place place) {
  if (!clauses_[clause]) return true;
  sql_ += words;
  return write(*clauses_[clause], place);
}

std::optional<Rewritten> Rewriter::run() {
  bool const good = find_table() && read_items() && read_group() && write_items() &&
                    write_where() && write_clause(kGroup, "GROUP BY ", Place::kKey) &&
                    write_clause(kHaving, "HAVING ", Place::kOrder) &&
                    write_clause(kOrder, "ORDER BY ", Place::kOrder) &&
                    write_clause(kLimit, "LIMIT ", Place::kOrder);
  if (!good || (!aggregates_ && !distinct_ && !clauses_[kGroup])) return std::nullopt;
  return Rewritten{std::move(plan_), std::move(sql_)};
}

}  // namespace

std::optional<Rewritten> rewrite(std::string_view sql, std::string_view group_table) {
  auto const tokens = tokens_of(sql);
  if (!tokens) return std::nullopt;
  auto const clauses = clauses_of(*tokens);
  if (!clauses) return std::nullopt;
  return Rewriter(*clauses, group_table).run();
}

}  // namespace stepscope::query
