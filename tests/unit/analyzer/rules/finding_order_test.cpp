// Findings are ordered worst first, and causes before what they explain.
#include "analyzer/rules/finding_order.h"

#include <gmock/gmock.h>

namespace stepscope::analyzer {
namespace {

Finding found(char const* rule, Severity severity, int64_t cost, int32_t rank = 0,
              double devices = 1) {
  Finding finding;
  finding.rule = rule;
  finding.severity = severity;
  finding.cost_ns_per_step = cost;
  finding.where = DeviceRef{rank, 0};
  finding.metrics.emplace_back("devices", devices);
  return finding;
}

std::vector<std::string> ordered(std::vector<Finding> findings) {
  order_findings(findings);
  std::vector<std::string> rules;
  for (Finding const& finding : findings) rules.push_back(finding.rule);
  return rules;
}

using testing::ElementsAre;

TEST(FindingOrder, IsBySeverityThenCost) {
  EXPECT_THAT(ordered({found("a", Severity::kWarning, 9), found("b", Severity::kCritical, 1),
                       found("c", Severity::kCritical, 2)}),
              ElementsAre("c", "b", "a"));
}

TEST(FindingOrder, AFixThatGivesNothingByItselfComesLastOfItsSeverity) {
  std::vector<Finding> findings(4);
  findings[0].rule = "small-grids", findings[0].severity = Severity::kCritical;
  findings[1].rule = "input-bound", findings[2].rule = "exposed-communication";
  findings[3].rule = "blocking-sync";
  for (size_t i = 1; i < 4; ++i) findings[i].severity = Severity::kWarning;
  findings[0].gain_alone = 0, findings[1].gain_alone = 0.001, findings[3].gain_alone = 0.2;

  order_by_replay(findings);
  std::vector<std::string> rules;
  for (Finding const& finding : findings) rules.push_back(finding.rule);
  EXPECT_EQ(rules, (std::vector<std::string>{"small-grids", "exposed-communication",
                                             "blocking-sync", "input-bound"}));
}

TEST(FindingOrder, PutsAReasonBeforeWhatItExplains) {
  std::vector<Finding> findings{found("input-bound", Severity::kCritical, 50),
                                found("exposed-communication", Severity::kCritical, 40),
                                found("small-buckets", Severity::kWarning, 20)};
  EXPECT_THAT(ordered(findings),
              ElementsAre("input-bound", "small-buckets", "exposed-communication"));
  findings[2].cost_ns_per_step = 19;  // less than half of it
  EXPECT_THAT(ordered(findings),
              ElementsAre("input-bound", "exposed-communication", "small-buckets"));
}

TEST(FindingOrder, PutsAMachineThatIsShortOfCoresFirst) {
  Finding machine;
  machine.rule = "oversubscribed-host";
  machine.severity = Severity::kWarning;
  machine.metrics = {{"threads", 4}, {"cores", 2}};
  std::vector<Finding> findings{found("straggler", Severity::kCritical, 40), machine};
  EXPECT_THAT(ordered(findings), ElementsAre("oversubscribed-host", "straggler"));
  findings[1].metrics[1].second = 4;
  EXPECT_THAT(ordered(findings), ElementsAre("straggler", "oversubscribed-host"));
}

TEST(FindingOrder, AStragglersOwnLossIsExplainedByIt) {
  auto const rules = [](int32_t late_rank, double devices) {
    return ordered({found("host-bound-launches", Severity::kCritical, 40, 2, devices),
                    found("straggler", Severity::kWarning, 30, late_rank)});
  };
  EXPECT_THAT(rules(2, 1), ElementsAre("straggler", "host-bound-launches"));
  EXPECT_THAT(rules(1, 1), ElementsAre("host-bound-launches", "straggler"));  // another rank's host
  EXPECT_THAT(rules(2, 4), ElementsAre("host-bound-launches", "straggler"));  // all hosts
}

TEST(FindingOrder, MemoryThatGrowsIsTheReasonOfStepsThatAreLongBecauseOfAllocations) {
  for (char const* const growth : {"memory-leak", "memory-fragmentation"})
    for (char const* const long_steps : {"step-outliers", "warmup-in-measurement"}) {
      auto const rules = [&](char const* part) {
        Finding steps = found(long_steps, Severity::kCritical, 40);
        steps.subjects.emplace_back("part", part);
        return ordered({steps, found("input-bound", Severity::kCritical, 30),
                        found(growth, Severity::kWarning, 0)});
      };

      EXPECT_THAT(rules("allocation"), ElementsAre(growth, long_steps, "input-bound"));
      EXPECT_THAT(rules("compute"), ElementsAre(long_steps, "input-bound", growth));
    }
}

TEST(FindingOrder, ALeakIsTheReasonOfAllocationsHoweverMuchTheyCost) {
  auto const rules = [](Severity leak) {
    return ordered({found("allocation-in-step", Severity::kCritical, 40),
                    found("input-bound", Severity::kCritical, 30), found("memory-leak", leak, 0)});
  };
  EXPECT_THAT(rules(Severity::kWarning),
              ElementsAre("memory-leak", "allocation-in-step", "input-bound"));
  EXPECT_THAT(rules(Severity::kInfo),
              ElementsAre("allocation-in-step", "input-bound", "memory-leak"));
}

TEST(FindingOrder, AReasonIsAsSevereAsWhatItExplains) {
  std::vector<Finding> findings{found("straggler", Severity::kWarning, 30),
                                found("blocking-sync", Severity::kCritical, 40)};
  order_findings(findings);
  EXPECT_EQ(findings[0].rule, "straggler");
  EXPECT_EQ(findings[0].severity, Severity::kCritical);
}

}  // namespace
}  // namespace stepscope::analyzer
