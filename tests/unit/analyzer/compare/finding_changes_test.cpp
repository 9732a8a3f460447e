// What rules found on both sides of a comparison: which findings are listed, in which order, and
// which numbers of several runs stand for them.
#include "analyzer/compare/finding_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepscope::analyzer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Found = RunMeasurements::Found;

RunMeasurements run_with(std::vector<Found> findings) {
  RunMeasurements run;
  run.findings = std::move(findings);
  return run;
}
std::vector<std::string> rules_of(std::vector<FindingChange> const& changes) {
  std::vector<std::string> rules;
  for (FindingChange const& change : changes) rules.push_back(change.rule);
  return rules;
}

TEST(FindingChanges, TheCostliestOfTheBaseComeFirstAndNewOnesLast) {
  auto const changes =
      compare_findings({run_with({{"straggler", Severity::kCritical, 5'000, 0.1},
                                  {"input-bound", Severity::kWarning, 9'000, 0.2}})},
                       {run_with({{"launch-latency", Severity::kWarning, 50'000, {}},
                                  {"straggler", Severity::kWarning, 4'000, 0.08}})});
  EXPECT_THAT(rules_of(changes), ElementsAre("input-bound", "straggler", "launch-latency"));

  FindingChange const& cured = changes.front();
  EXPECT_EQ(cured.base.runs, 1U);
  EXPECT_EQ(cured.base.cost_ns, 9'000);
  EXPECT_EQ(cured.base.gain, 0.2);
  EXPECT_EQ(cured.candidate.runs, 0U);
  EXPECT_EQ(cured.candidate.cost_ns, std::nullopt);
  EXPECT_EQ(changes[1].candidate.severity, Severity::kWarning);
}

TEST(FindingChanges, OnlyWhatIsWorthAWarningOnASideIsListed) {
  auto const changes =
      compare_findings({run_with({{"small-kernels", Severity::kInfo, 10, {}},
                                  {"load-imbalance", Severity::kInfo, 20, {}},
                                  {"trace-quality", Severity::kCritical, {}, {}}})},
                       {run_with({{"load-imbalance", Severity::kWarning, 30, {}}})});
  EXPECT_THAT(rules_of(changes), ElementsAre("load-imbalance"));
}

TEST(FindingChanges, SeveralRunsGiveTheirMeanAndHowManyHaveIt) {
  RunMeasurements const with = run_with({{"input-bound", Severity::kWarning, 10, 0.1}}),
                        with_more = run_with({{"input-bound", Severity::kCritical, 30, 0.3}}),
                        without = run_with({}),
                        unreplayed = run_with({{"input-bound", Severity::kWarning, 20, {}}});
  auto const changes = compare_findings({with, with_more, without}, {with, unreplayed});

  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].base.runs, 2U);
  EXPECT_EQ(changes[0].base.cost_ns, 20);
  EXPECT_EQ(changes[0].base.gain, 0.2);
  EXPECT_EQ(changes[0].base.severity, Severity::kCritical);
  EXPECT_EQ(changes[0].candidate.cost_ns, 15);
  EXPECT_EQ(changes[0].candidate.gain, std::nullopt) << "one run of two has no replay";
}

TEST(FindingChanges, NothingIsSaidWhereARunsFindingsAreNotKnown) {
  RunMeasurements const with = run_with({{"input-bound", Severity::kWarning, 10, 0.1}});
  EXPECT_THAT(compare_findings({with}, {RunMeasurements()}), IsEmpty());
  EXPECT_THAT(compare_findings({RunMeasurements()}, {with}), IsEmpty());
}

}  // namespace
}  // namespace stepscope::analyzer
