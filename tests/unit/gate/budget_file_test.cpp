// Budget files: which limits a workload gets, and that messages give the line and column of every
// mistake.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gate/budget_file.h"

namespace stepscope::gate {
namespace {

using analyzer::Bound;
using testing::AllOf;
using testing::HasSubstr;

std::vector<analyzer::Budget> budgets_of(std::string const& text,
                                         std::string const& workload = "cifar10") {
  auto const budgets = parse_budgets(text, "budgets.toml", workload);
  EXPECT_TRUE(budgets) << budgets.error().message;
  return budgets ? *budgets : std::vector<analyzer::Budget>();
}
std::string budget_error(std::string const& text) {
  auto const budgets = parse_budgets(text, "budgets.toml", "cifar10");
  return budgets ? "read" : budgets.error().message;
}

TEST(BudgetFile, AWorkloadHasItsOwnAndTheDefaults) {
  std::string const text = R"toml(
[default]
step_time_ms = "<= 12"
exposed_comm_share = "<= 10 %"
[workload.cifar10]
step_time_ms = "< 95.5"
compute_share = [">= 0.5", "<= 0.99"]
)toml";

  auto const own = budgets_of(text);
  ASSERT_EQ(own.size(), 4U);
  EXPECT_EQ(own[0].fact, "step_time_ms");
  EXPECT_EQ(own[0].bound, Bound::kBelow);
  EXPECT_EQ(own[0].limit, 95.5);
  EXPECT_EQ(own[0].line, 6U);
  EXPECT_EQ(own[0].column, 16U);
  EXPECT_EQ(own[1].fact, "compute_share");
  EXPECT_EQ(own[1].bound, Bound::kAtLeast);
  EXPECT_EQ(own[2].limit, 0.99);
  EXPECT_EQ(own[3].fact, "exposed_comm_share");
  EXPECT_DOUBLE_EQ(own[3].limit, 0.1);

  auto const other = budgets_of(text, "gpt");
  ASSERT_EQ(other.size(), 2U);
  EXPECT_EQ(other[0].limit, 12);
}

TEST(BudgetFile, UnknownKeysAreToldWithTheNearestKnownOne) {
  EXPECT_THAT(budget_error("[default]\n  step_time = \"<= 12\"\n"),
              AllOf(HasSubstr("budgets.toml:2:3: "), HasSubstr("step_time is no budget"),
                    HasSubstr("Did you mean step_time_ms?"), HasSubstr("peak_memory_gb")));
  EXPECT_THAT(budget_error("[default]\ncolour = \"<= 12\"\n"),
              testing::Not(HasSubstr("Did you mean")));

  EXPECT_THAT(budget_error("step_time_ms = \"<= 12\"\n"),
              AllOf(HasSubstr("budgets.toml:1:1"), HasSubstr("write [default]")));
  EXPECT_THAT(budget_error("[budget]\nstep_time_ms = \"<= 12\"\n"),
              AllOf(HasSubstr("budgets.toml:1:2"), HasSubstr("[workload.NAME]")));
  EXPECT_THAT(budget_error("[workload]\ncifar10 = 3\n"),
              AllOf(HasSubstr("budgets.toml:2:1"), HasSubstr("[workload.cifar10]")));
}

TEST(BudgetFile, BadNumbersAreToldWithTheirPlace) {
  for (std::string const bad : {"\"<= twelve\"", "\"<= nan\"", "\"<= inf\"", "\"<= -1\"", "\"12\"",
                                "\"<= 12 ms\"", "\"<=\"", "\"\"", "\"== 12\"", "\"<= 1e999\"",
                                "true", "[]", "[true]", "\"<= 12 %\"", "1979-05-27"})
    EXPECT_THAT(budget_error("[default]\nstep_time_ms = " + bad + "\n"),
                AllOf(HasSubstr("budgets.toml:2:1"), HasSubstr("step_time_ms")))
        << bad;

  EXPECT_THAT(budget_error("[default]\nstep_time_ms = 12\n"),
              HasSubstr("write \"<= 12\" or \">= 12\""));
  EXPECT_THAT(budget_error("[default]\nexposed_comm_share = \"<= 10\"\n"),
              AllOf(HasSubstr("at most 1,"), HasSubstr("<= 10 %")));
  EXPECT_THAT(budget_error("[default]\nexposed_comm_share = \"<= 200 %\"\n"),
              AllOf(HasSubstr("budgets.toml:2:22"), testing::EndsWith("at most 100 %")));
}

TEST(BudgetFile, WhatIsNoTomlIsToldWithItsPlace) {
  EXPECT_THAT(budget_error("[default]\nstep_time_ms <= 12\n"), HasSubstr("budgets.toml:2:14"));
  EXPECT_THAT(budget_error("[default\n"), HasSubstr("budgets.toml:1:"));
  EXPECT_THAT(budget_error("[=]\n"),
              HasSubstr("budgets.toml:1:"));  // toml++ 3.3 asserts that there is none
  EXPECT_THAT(budget_error(std::string(2 << 20, ' ')), HasSubstr("budgets.toml"));
  EXPECT_THAT(budget_error("a = " + std::string(5000, '[')), HasSubstr("budgets.toml:1:"));
}

TEST(BudgetFile, MistakesInOtherWorkloadsCountToo) {
  EXPECT_THAT(budget_error("[default]\nquality = \">= 90\"\n[workload.gpt]\nstep = \"<= 1\"\n"),
              HasSubstr("budgets.toml:4:1"));
}

TEST(BudgetFile, AWorkloadWithoutAnyBudgetIsNoPass) {
  EXPECT_THAT(budget_error("[workload.gpt]\nstep_time_ms = \"<= 12\"\n"),
              AllOf(HasSubstr("no budget for workload cifar10"), HasSubstr("it has: gpt")));
  EXPECT_THAT(budget_error(""), HasSubstr("it has: none"));
}

TEST(BudgetFile, CommentsAreInAnyLanguage) {
  auto const budgets = budgets_of(
      "\xEF\xBB\xBF# für alle, 所有 ⚠️\n[default]\nstep_time_ms = \"<= 12\" # ü\n");
  ASSERT_EQ(budgets.size(), 1U);
  EXPECT_EQ(budgets[0].line, 3U);
  // toml++ 3.3 has no defined answer to whether these are blanks.
  for (std::string const sign : {"ü", "ア", "\xEF\xBB\x9F", "\xC2\x85"})
    EXPECT_THAT(budget_error("[" + sign + "]\n"), HasSubstr("budgets.toml:1:")) << sign;
  EXPECT_THAT(budget_error("[default]\n# \xFF\n"), HasSubstr("budgets.toml:2:"));
}

TEST(BudgetFile, HostileNamesAreMadePrintable) {
  EXPECT_THAT(budget_error("[default]\n\"\\u001b[31m\" = \"<= 12\"\n"),
              testing::Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace stepscope::gate
