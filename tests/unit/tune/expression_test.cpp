// Conditions of spaces: what they mean, and that hostile ones end with a message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tune/expression.h"

namespace stepscope::tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Lookup known() {
  return [](std::string const& name, std::optional<int64_t> index) -> std::optional<Value> {
    if (name == "batch") return Value(32.0);
    if (name == "bucket-mb") return Value(25.0);
    if (name == "amp") return Value(std::string("bf16"));
    if (name == "loss" && index == 20) return Value(2.0);
    return std::nullopt;
  };
}
bool holds(std::string const& text) {
  auto const parsed = Expression::parse(text);
  EXPECT_TRUE(parsed) << parsed.error().message;
  auto const result = parsed->holds(known());
  EXPECT_TRUE(result) << result.error().message;
  return result && *result;
}
std::string expression_error(std::string const& text) {
  auto const parsed = Expression::parse(text);
  if (!parsed) return parsed.error().message;
  auto const result = parsed->holds(known());
  return result ? "holds or not" : result.error().message;
}

TEST(TuneExpression, OperatorsBindAsInArithmetic) {
  EXPECT_TRUE(holds("1 + 2*3 == 7"));
  EXPECT_TRUE(holds("(1 + 2)*3 == 9"));
  EXPECT_TRUE(holds("10 - 3 - 2 == 5"));
  EXPECT_TRUE(holds("-batch < 0 and 7 % 4 == 3"));
  EXPECT_TRUE(holds("1 > 2 or not (3 < 2)"));
  EXPECT_FALSE(holds("batch*8 != 256 || 1 == 2"));
}

TEST(TuneExpression, NamesMayStandInBracesAndTextsInQuotes) {
  EXPECT_TRUE(holds("{batch}*8 == 256"));
  EXPECT_TRUE(holds("{bucket-mb} >= 25"));
  EXPECT_TRUE(holds("amp == \"bf16\" && amp != 'off'"));
  EXPECT_FALSE(holds("amp == 1"));
  EXPECT_TRUE(holds("loss[20] == 2"));
}

TEST(TuneExpression, DefaultIsTheLeftSideOfTheDefaultRun) {
  auto const condition = Expression::parse("2*loss[20] < 1.01*default");
  ASSERT_TRUE(condition);
  auto const of_default = [](double loss) {
    return [loss](std::string const&, std::optional<int64_t>) {
      return std::optional<Value>(Value(loss));
    };
  };

  EXPECT_TRUE(*condition->holds(known(), of_default(2.0)));
  EXPECT_FALSE(*condition->holds(known(), of_default(1.9)));
  EXPECT_THAT(condition->names(), ElementsAre("loss"));
}

TEST(TuneExpression, WhatIsNoConditionIsReportedWithItsPlace) {
  EXPECT_THAT(expression_error(""), HasSubstr("missing at the end"));
  EXPECT_THAT(expression_error("batch <"), HasSubstr("missing at the end"));
  EXPECT_THAT(expression_error("batch 3"), HasSubstr("an operator is missing at byte 7"));
  EXPECT_THAT(expression_error("(batch"), HasSubstr(") is missing"));
  EXPECT_THAT(expression_error("{}"), HasSubstr("a name in braces"));
  EXPECT_THAT(expression_error("'bf16"), HasSubstr("closing '"));
  EXPECT_THAT(expression_error("loss[x]"), HasSubstr("step number"));
  EXPECT_THAT(expression_error("1 < 2 < 3"), HasSubstr("an operator is missing"));
}

TEST(TuneExpression, WhatCannotBeComputedIsAnError) {
  EXPECT_THAT(expression_error("width > 1"), HasSubstr("width is not known"));
  EXPECT_THAT(expression_error("loss[21] > 1"), HasSubstr("loss[21] is not known"));
  EXPECT_THAT(expression_error("1/0 > 1"), HasSubstr("is not a number"));
  EXPECT_THAT(expression_error("amp > 1"), HasSubstr("needs a number"));
  EXPECT_THAT(expression_error("amp"), HasSubstr("no condition"));
}

TEST(TuneExpression, LengthAndDepthAreBounded) {
  EXPECT_THAT(expression_error(std::string(400, '(')), HasSubstr("nested deeper"));
  EXPECT_THAT(expression_error(std::string(400, '-') + "1"), HasSubstr("nested deeper"));
  EXPECT_THAT(expression_error(std::string(2000, '1')), HasSubstr("at most 1000"));
  std::string sum = "1";
  for (int i = 0; i < 400; ++i) sum += "+1";
  EXPECT_TRUE(holds(sum + "==401"));
}

}  // namespace
}  // namespace stepscope::tune
