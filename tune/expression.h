// Conditions over names, as a space writes them: "batch*accumulate == 256",
// "loss[20] < 1.01*default" (docs/guide/TUNE.md). Text from files: length and depth are bounded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trace/base/expected.h"

namespace stepscope::tune {

using Value = std::variant<double, std::string>;
/// A number if all of the text is a finite one.
Value value_of(std::string_view text);

/// What a name stands for; none: nothing. `index`: of "loss[20]".
using Lookup =
    std::function<std::optional<Value>(std::string const& name, std::optional<int64_t> index)>;

class Expression {
 public:
  static constexpr size_t kMostBytes = 1000;
  static constexpr int kMostDepth = 32;

  /// Numbers, texts in quotes, names, {names}, name[N]; + - * / %, comparisons, and, or, not.
  /// Errors: what is not of that form, and where.
  static base::Expected<Expression> parse(std::string_view text);

  /// In a comparison `default` is its left side with the names of `of_default`. Errors: an unknown
  /// name, a text where a number is needed, a result that is not finite.
  [[nodiscard]] base::Expected<Value> evaluate(Lookup const& lookup,
                                               Lookup const& of_default = {}) const;
  /// evaluate() as a condition: 0 does not hold. Errors also: the result is a text.
  [[nodiscard]] base::Expected<bool> holds(Lookup const& lookup,
                                           Lookup const& of_default = {}) const;

  /// Distinct, sorted, without `default`.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::string const& text() const { return text_; }

 private:
  friend class ExpressionParser;
  friend class ExpressionValue;
  enum class Kind : uint8_t { kNumber, kText, kName, kUnary, kBinary };
  struct Node {
    Kind kind = Kind::kNumber;
    std::string word;  ///< operator, name or text
    double number = 0;
    std::optional<int64_t> index;
    size_t left = 0, right = 0;
  };

  std::string text_;
  std::vector<Node> nodes_;  ///< parts stand before what they are part of: the last is the whole
};

}  // namespace stepscope::tune
