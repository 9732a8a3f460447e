#include "tune/expression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "trace/base/check.h"
#include "trace/base/format.h"

namespace stepscope::tune {
namespace {

using base::Expected;
using base::fail;

constexpr std::string_view kDefaultName = "default";

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool const is_all = error == std::errc() && end == text.data() + text.size();
  if (!is_all || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool is_letter(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}
bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

bool compares(std::string const& op) {
  return op == "<" || op == "<=" || op == ">" || op == ">=" || op == "==" || op == "!=";
}

Expected<Value> compare(std::string const& op, Value const& left, Value const& right) {
  if (op == "==") return Value(left == right ? 1.0 : 0.0);
  if (op == "!=") return Value(left == right ? 0.0 : 1.0);
  auto const* const a = std::get_if<double>(&left);
  auto const* const b = std::get_if<double>(&right);
  if (a == nullptr || b == nullptr) return fail("{} needs a number on both sides", op);

  bool holds = *a < *b;
  if (op == "<=") holds = *a <= *b;
  if (op == ">") holds = *a > *b;
  if (op == ">=") holds = *a >= *b;
  return Value(holds ? 1.0 : 0.0);
}

Expected<Value> calculate(std::string const& op, Value const& left, Value const& right) {
  auto const* const a = std::get_if<double>(&left);
  auto const* const b = std::get_if<double>(&right);
  if (a == nullptr || b == nullptr) return fail("{} needs a number on both sides", op);

  double result = 0;
  if (op == "+") result = *a + *b;
  if (op == "-") result = *a - *b;
  if (op == "*") result = *a * *b;
  if (op == "/") result = *a / *b;
  if (op == "%") result = std::fmod(*a, *b);
  if (op == "and") result = *a != 0 && *b != 0 ? 1 : 0;
  if (op == "or") result = *a != 0 || *b != 0 ? 1 : 0;
  if (!std::isfinite(result)) return fail("{:g} {} {:g} is not a number", *a, op, *b);
  return Value(result);
}

}  // namespace

Value value_of(std::string_view text) {
  if (auto const number = number_of(text)) return *number;
  return std::string(text);
}

/// Reads an expression from left to right; the tightest operators deepest.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text) : rest_(text), all_(text) {}

  Expected<Expression> parse() {
    size_t const whole = level(0);
    skip_blanks();
    if (error_.empty() && !rest_.empty()) expect("an operator");
    if (!error_.empty())
      return fail("\"{}\": {}", base::printable(base::valid_utf8(all_, Expression::kMostBytes)),
                  error_);

    STEPSCOPE_CHECK(whole + 1 == result_.nodes_.size());
    result_.text_ = std::string(all_);
    return std::move(result_);
  }

 private:
  using Node = Expression::Node;
  using Kind = Expression::Kind;
  /// The loosest ones first.
  static constexpr size_t kLevels = 5;
  static std::vector<std::string_view> const& operators(size_t level) {
    static std::array<std::vector<std::string_view>, kLevels> const by_level = {
        {{"or", "||"},
         {"and", "&&"},
         {"<=", ">=", "==", "!=", "<", ">"},
         {"+", "-"},
         {"*", "/", "%"}}};
    return by_level[level];
  }

  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size()));
  }
  void expect(std::string_view what) {
    if (!error_.empty()) return;
    error_ = rest_.empty()
                 ? fmt::format("{} is missing at the end", what)
                 : fmt::format("{} is missing at byte {}", what, all_.size() - rest_.size() + 1);
  }
  size_t add(Node node) {
    result_.nodes_.push_back(std::move(node));
    return result_.nodes_.size() - 1;
  }

  bool take(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    bool const is_word = is_letter(word.front());
    bool const goes_on = rest_.size() > word.size() &&
                         (is_letter(rest_[word.size()]) || is_digit(rest_[word.size()]));
    if (is_word && goes_on) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::string take_operator(size_t level) {
    for (std::string_view const op : operators(level)) {
      if (!take(op)) continue;
      if (op == "||") return "or";
      return op == "&&" ? "and" : std::string(op);
    }
    return {};
  }

  size_t level(size_t depth_of_operators) {
    if (depth_of_operators == kLevels) return unary();
    size_t left = level(depth_of_operators + 1);

    while (error_.empty()) {
      std::string op = take_operator(depth_of_operators);
      if (op.empty()) break;
      bool const is_comparison = compares(op);
      Node node{Kind::kBinary, std::move(op), 0, {}, left, 0};
      node.right = level(depth_of_operators + 1);
      left = add(std::move(node));
      if (is_comparison) break;
    }
    return left;
  }

  size_t unary() {
    if (++depth_ > Expression::kMostDepth && error_.empty())
      error_ = fmt::format("nested deeper than {} levels", Expression::kMostDepth);
    size_t node = 0;

    std::string op;
    if (take("-")) op = "-";
    if (op.empty() && (take("not") || (!rest_.starts_with("!=") && take("!")))) op = "not";
    if (!error_.empty() || op.empty()) {
      node = error_.empty() ? primary() : 0;
    } else {
      size_t const operand = unary();
      node = add({Kind::kUnary, op, 0, {}, operand, 0});
    }

    --depth_;
    return node;
  }

  size_t primary() {
    skip_blanks();
    if (take("(")) {
      size_t const inner = level(0);
      if (!take(")")) expect(")");
      return inner;
    }

    char const first = rest_.empty() ? '\0' : rest_.front();
    if (first == '"' || first == '\'') return quoted(first);
    if (first == '{') return braced();
    if (is_digit(first) || first == '.') return number();
    if (is_letter(first)) return name();
    expect("a number, a name or a text");
    return 0;
  }

  size_t quoted(char quote) {
    size_t const end = rest_.find(quote, 1);
    if (end == std::string_view::npos) {
      expect(fmt::format("a closing {} behind the text", quote));
      return 0;
    }
    Node node{Kind::kText, std::string(rest_.substr(1, end - 1)), 0, {}, 0, 0};
    rest_.remove_prefix(end + 1);
    return add(std::move(node));
  }
  size_t braced() {
    size_t const end = rest_.find('}');
    if (end == std::string_view::npos || end == 1) {
      expect("a name in braces");
      return 0;
    }
    Node node{Kind::kName, std::string(rest_.substr(1, end - 1)), 0, {}, 0, 0};
    rest_.remove_prefix(end + 1);
    return add(std::move(node));
  }
  size_t number() {
    double value = 0;
    auto const [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) {
      expect("a number");
      return 0;
    }
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return add({Kind::kNumber, {}, value, {}, 0, 0});
  }
  size_t name() {
    size_t length = 0;
    while (length < rest_.size() &&
           (is_letter(rest_[length]) || is_digit(rest_[length]) || rest_[length] == '.'))
      ++length;
    Node node{Kind::kName, std::string(rest_.substr(0, length)), 0, {}, 0, 0};
    rest_.remove_prefix(length);

    if (take("[")) {
      skip_blanks();
      int64_t index = 0;
      auto const [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), index);
      if (error != std::errc() || index < 0) expect("a step number in [ ]");
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      if (!take("]")) expect("]");
      node.index = index;
    }
    return add(std::move(node));
  }

  std::string_view rest_, all_;
  Expression result_;
  std::string error_;
  int depth_ = 0;
};

/// The value of an expression. Parsing has bounded its depth.
class ExpressionValue {
 public:
  ExpressionValue(Expression const& expression, Lookup const& of_default)
      : nodes_(expression.nodes_), of_default_(of_default) {}

  /// `compared`: the left side of the comparison around it.
  Expected<Value> of(size_t number, Lookup const& lookup, std::optional<size_t> compared) const {
    Expression::Node const& node = nodes_[number];
    switch (node.kind) {
      case Expression::Kind::kNumber:
        return Value(node.number);
      case Expression::Kind::kText:
        return Value(node.word);
      case Expression::Kind::kName:
        return name(node, lookup, compared);
      case Expression::Kind::kUnary:
        return unary(node, lookup, compared);
      case Expression::Kind::kBinary:
        break;
    }
    return binary(node, lookup, compared);
  }

 private:
  Expected<Value> name(Expression::Node const& node, Lookup const& lookup,
                       std::optional<size_t> compared) const {
    if (node.word == kDefaultName && compared && of_default_)
      return of(*compared, of_default_, std::nullopt);
    auto value = lookup(node.word, node.index);
    if (value) return *value;
    std::string const index = node.index ? fmt::format("[{}]", *node.index) : std::string();
    return fail("{}{} is not known", base::printable(node.word), index);
  }
  Expected<Value> unary(Expression::Node const& node, Lookup const& lookup,
                        std::optional<size_t> compared) const {
    auto const operand = of(node.left, lookup, compared);
    if (!operand) return operand;
    auto const* const value = std::get_if<double>(&*operand);
    if (value == nullptr) return fail("{} needs a number", node.word);
    if (node.word == "-") return Value(-*value);
    return Value(*value == 0 ? 1.0 : 0.0);
  }
  Expected<Value> binary(Expression::Node const& node, Lookup const& lookup,
                         std::optional<size_t> compared) const {
    auto const left = of(node.left, lookup, compared);
    if (!left) return left;
    bool const is_comparison = compares(node.word);
    auto const right =
        of(node.right, lookup, is_comparison ? std::optional<size_t>(node.left) : compared);
    if (!right) return right;
    return is_comparison ? compare(node.word, *left, *right) : calculate(node.word, *left, *right);
  }

  std::vector<Expression::Node> const& nodes_;
  Lookup const& of_default_;
};

Expected<Expression> Expression::parse(std::string_view text) {
  if (text.size() > kMostBytes)
    return fail("an expression of {} bytes, at most {} are read", text.size(), kMostBytes);
  return ExpressionParser(text).parse();
}

Expected<Value> Expression::evaluate(Lookup const& lookup, Lookup const& of_default) const {
  auto value =
      ExpressionValue(*this, of_default).of(nodes_.size() - 1, lookup, std::optional<size_t>());
  if (!value) return fail("\"{}\": {}", base::printable(text_), value.error().message);
  return value;
}

Expected<bool> Expression::holds(Lookup const& lookup, Lookup const& of_default) const {
  auto const value = evaluate(lookup, of_default);
  if (!value) return base::fail_with(value);
  auto const* const number = std::get_if<double>(&*value);
  if (number == nullptr) return fail("\"{}\" is a text and no condition", base::printable(text_));
  return *number != 0;
}

std::vector<std::string> Expression::names() const {
  std::set<std::string> names;
  for (Node const& node : nodes_)
    if (node.kind == Kind::kName && node.word != kDefaultName) names.insert(node.word);
  return {names.begin(), names.end()};
}

}  // namespace stepscope::tune
