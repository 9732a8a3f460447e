// Properties of the list of rules as a whole.
#include "analyzer/rules/rule.h"
#include "tests/support/paths.h"
#include "trace/model/build/trace_builder.h"
#include "trace/model/group_details.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

namespace stepscope::analyzer {
namespace {

TEST(Rules, HaveDistinctNamesAndASectionInTheDocument) {
  std::ifstream file(support::source_path("docs/reference/FINDINGS.md"));
  std::stringstream text;
  text << file.rdbuf();

  std::set<std::string> sections;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("## ")) continue;
    EXPECT_TRUE(sections.insert(line.substr(3)).second) << line;
  }

  std::set<std::string> names;
  for (Rule const& rule : all_rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_TRUE(sections.contains(rule.name)) << rule.name;
  }

  for (std::string const& section : sections)
    EXPECT_TRUE(names.contains(section)) << section << " is documented but no rule";
}

TEST(Rules, CostBecomesACeilingOfTheGain) {
  MeasuredDevice device;
  device.has_steps = true;
  device.periods = {{0, 100}, {100, 200}};
  device.total_ns = 200;

  Finding const finding = make_cost_finding("x", device, 20);
  EXPECT_EQ(finding.cost_ns_per_step, 20);
  EXPECT_DOUBLE_EQ(*finding.gain_ceiling, 100.0 / 80 - 1);
  EXPECT_EQ(finding.severity, Severity::kCritical);

  EXPECT_EQ(make_cost_finding("x", device, 19).severity, Severity::kWarning);
  EXPECT_EQ(make_cost_finding("x", device, 4).severity, Severity::kInfo);
}

/// A step every 100 ns that works for 60; between the steps the host waits for data.
Analysis loop_with_gaps_between_steps() {
  std::vector<IdleGap> gaps;
  Analysis facts;
  DeviceStats device;
  device.window = {0, 960};
  facts.devices.push_back(device);

  for (int64_t i = 0; i < 10; ++i) {
    StepStats step;
    step.step = i;
    step.window = {i * 100, i * 100 + 60};
    step.time.window_ns = step.time.compute_ns = 60;
    step.warmup = i == 0;
    facts.steps.push_back(step);
    if (i > 0) gaps.push_back({step.ref, {i * 100 - 40, i * 100}, IdleCause::kInput, {}, {}});
  }

  facts.gaps = IdleGaps(gaps);
  return facts;
}

/// Calls change(i, gap) with each gap.
template <class Change>
void change_gaps(Analysis& facts, Change const& change) {
  std::vector<IdleGap> gaps(facts.gaps.begin(), facts.gaps.end());
  for (size_t i = 0; i < gaps.size(); ++i) change(i, gaps[i]);
  facts.gaps = IdleGaps(gaps);
}

std::vector<std::string> rules_of_idle(IdleCause cause, int64_t idle_ns) {
  Analysis facts = loop_with_gaps_between_steps();
  facts.integrity.score = 100;

  std::vector<IdleGap> pieces;
  // The first idle_ns of each gap have the cause, the rest has another.
  for (IdleGap gap : facts.gaps) {
    IdleGap rest = gap;
    gap.when.end = rest.when.begin = gap.when.begin + idle_ns;
    gap.cause = cause;
    rest.cause = IdleCause::kLaunchLatency;
    pieces.push_back(gap);
    pieces.push_back(rest);
  }
  facts.gaps = IdleGaps(pieces);

  model::Run run;
  run.ranks.emplace_back();
  std::vector<std::string> rules;
  for (Finding const& finding : find_all(run, facts)) rules.push_back(finding.rule);
  return rules;
}

TEST(Rules, AboutIdleCausesSpeakFromTheirThresholdOn) {
  struct Case {
    char const* rule;
    IdleCause cause;
    int64_t threshold_percent;
  };

  for (Case const& c :
       {Case{"input-bound", IdleCause::kInput, 5}, Case{"blocking-sync", IdleCause::kSync, 5},
        Case{"host-bound-launches", IdleCause::kLaunchBound, 5},
        Case{"allocation-in-step", IdleCause::kAllocation, 2},
        Case{"unexplained-idle", IdleCause::kUnexplained, 5}}) {
    // A step is 100 ns long, so a ns is a per cent.
    EXPECT_EQ(rules_of_idle(c.cause, c.threshold_percent), (std::vector<std::string>{c.rule}));
    EXPECT_TRUE(rules_of_idle(c.cause, c.threshold_percent - 1).empty()) << c.rule;
  }
}

TEST(Rules, AnErrorThatEndedTheGpuWorkComesFirst) {
  Analysis facts = loop_with_gaps_between_steps();
  std::vector<IdleGap> gaps(facts.gaps.begin(), facts.gaps.end());
  for (IdleGap& gap : gaps) gap.cause = IdleCause::kLaunchBound;
  facts.gaps = IdleGaps(gaps);

  model::Run run;
  model::TraceBuilder builder;
  builder.info().facts.emplace_back(model::kFatalErrorFact, "device-side assert");
  run.ranks.push_back({std::move(builder).finish(), 0, ""});
  std::vector<Finding> const findings = find_all(run, facts);

  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].rule, "device-error");
  EXPECT_EQ(findings[0].severity, Severity::kCritical);
  EXPECT_EQ(findings[0].subjects.at(0).second, "device-side assert");
  EXPECT_EQ(findings[1].rule, "host-bound-launches");
}

TEST(Rules, NameTheFunctionThatCalledMostOfWhatTheHostDid) {
  // In so many of nine gaps the host's call is that of train(), else of evaluate().
  auto const caller_of = [](size_t of_nine) {
    model::TraceBuilder builder;
    model::StringId const item = builder.intern("aten::item");
    model::StringId const train = builder.intern("train.py(8): train");
    model::StringId const evaluate = builder.intern("train.py(40): evaluate");
    Analysis facts = loop_with_gaps_between_steps();
    change_gaps(facts, [&](size_t i, IdleGap& gap) {
      gap.cause = IdleCause::kSync;
      gap.host_name = item;
      gap.caller = i < of_nine ? train : evaluate;
    });

    model::Run run;
    run.ranks.push_back({std::move(builder).finish(), 0, ""});
    std::vector<Finding> const findings = find_all(run, facts);
    EXPECT_EQ(findings.size(), 1U);
    std::string caller;
    for (auto const& [role, name] : findings.at(0).subjects)
      if (role == "caller") caller = name;
    return caller;
  };

  EXPECT_EQ(caller_of(9), "train.py(8): train");
  EXPECT_EQ(caller_of(5), "train.py(8): train");
  EXPECT_EQ(caller_of(0), "train.py(40): evaluate");
}

TEST(Rules, LaunchBoundTimeAfterASyncIsTheSyncs) {
  Analysis facts = loop_with_gaps_between_steps();

  std::vector<IdleGap> pieces;
  for (IdleGap gap : facts.gaps) {
    IdleGap rest = gap;
    gap.when.end = rest.when.begin = gap.when.begin + 1;
    gap.cause = IdleCause::kSync;
    rest.cause = IdleCause::kLaunchBound;
    rest.is_way_from_sync = true;
    pieces.push_back(gap);
    pieces.push_back(rest);
  }
  facts.gaps = IdleGaps(pieces);

  model::Run run;
  run.ranks.emplace_back();
  std::vector<Finding> const findings = find_all(run, facts);

  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "blocking-sync");
  EXPECT_EQ(findings[0].cost_ns_per_step, 40);
}

TEST(Rules, WorkOfTheHostBetweenASyncAndTheNextLaunchIsNotTheSyncs) {
  // The sync takes the first ns of each gap of 40 ns. In the rest the host runs a range of its own,
  // or only returns from the sync to the launch.
  auto const rules_of = [](bool has_work) {
    Analysis facts = loop_with_gaps_between_steps();
    facts.integrity.score = 100;

    model::TraceBuilder builder;
    builder.add_track({});
    model::StringId const name = builder.intern("logging");

    std::vector<IdleGap> pieces;
    for (IdleGap gap : facts.gaps) {
      IdleGap rest = gap;
      gap.when.end = rest.when.begin = gap.when.begin + 1;
      gap.cause = IdleCause::kSync;
      rest.cause = IdleCause::kLaunchBound;
      rest.host_row = model::EventId{0};
      rest.host_name = name;
      rest.host_is_apart = has_work;
      rest.is_way_from_sync = !has_work;
      pieces.push_back(gap);
      pieces.push_back(rest);
    }
    facts.gaps = IdleGaps(pieces);

    model::Run run;
    run.ranks.push_back({std::move(builder).finish(), 0, ""});
    std::vector<std::string> rules;
    for (Finding const& finding : find_all(run, facts)) rules.push_back(finding.rule);
    return rules;
  };

  EXPECT_EQ(rules_of(true), std::vector<std::string>{"host-bound-launches"});
  EXPECT_EQ(rules_of(false), std::vector<std::string>{"blocking-sync"});
}

TEST(Rules, FindingsComeBySeverityThenCost) {
  Analysis facts = loop_with_gaps_between_steps();
  facts.integrity.score = 50;  // a warning without a cost
  change_gaps(facts, [](size_t i, IdleGap& gap) {
    if (i % 4 == 0) gap.cause = IdleCause::kAllocation;
  });

  model::Run run;
  run.ranks.emplace_back();
  std::vector<Finding> const findings = find_all(run, facts);

  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings[0].rule, "input-bound");         // 27 % of the steps
  EXPECT_EQ(findings[1].rule, "allocation-in-step");  // 13 %
  EXPECT_EQ(findings[2].rule, "trace-quality");
}

TEST(MeasuredSteps, IdleTimeBetweenTwoStepsCountsToTheSecond) {
  MeasuredDevice const device = measure_steps(loop_with_gaps_between_steps()).all.at(0);
  EXPECT_EQ(device.periods.size(), 9U);
  EXPECT_EQ(device.total_ns, 900);
  EXPECT_EQ(device.idle_of(IdleCause::kInput), 360);
}

TEST(MeasuredSteps, AFewLongPeriodsAreJudgedApartWhereverTheTimeWent) {
  Analysis facts = loop_with_gaps_between_steps();
  // The host is elsewhere for 200 ns between two steps.
  for (size_t i = 6; i < facts.steps.size(); ++i) {
    facts.steps[i].window.begin += 200;
    facts.steps[i].window.end += 200;
  }
  change_gaps(facts, [](size_t i, IdleGap& gap) {
    if (i > 5) gap.when.begin += 200;
    if (i >= 5) gap.when.end += 200;
  });

  MeasuredSteps const steps = measure_steps(facts);
  EXPECT_EQ(steps.all.at(0).total_ns, 900 + 200);
  EXPECT_EQ(steps.steady.at(0).total_ns, 800);
  EXPECT_EQ(steps.outliers.at(0).total_ns, 300);
  EXPECT_EQ(steps.outliers.at(0).idle_of(IdleCause::kInput), 240);

  model::Run run;
  run.ranks.emplace_back();
  std::vector<Finding> const findings = find_all(run, facts);
  auto const outliers = std::find_if(findings.begin(), findings.end(),
                                     [](Finding const& f) { return f.rule == "step-outliers"; });
  ASSERT_NE(outliers, findings.end());
  EXPECT_EQ(outliers->cost_ns_per_step, 200 / 9);
}

TEST(MeasuredSteps, WorkBetweenTwoStepsBelongsToNeither) {
  Analysis facts = loop_with_gaps_between_steps();
  change_gaps(facts, [](size_t i, IdleGap& gap) {
    if (i == 3) gap.when.begin += 10;  // the device did something after step 3
  });
  MeasuredDevice const device = measure_steps(facts).all.at(0);
  EXPECT_EQ(device.total_ns, 900 - 40);
  EXPECT_EQ(device.idle_of(IdleCause::kInput), 320);
}

TEST(MeasuredSteps, ALeftOutStepBreaksTheChain) {
  Analysis facts = loop_with_gaps_between_steps();
  facts.steps.erase(facts.steps.begin() + 5);
  MeasuredDevice const device = measure_steps(facts).all.at(0);
  EXPECT_EQ(device.periods.size(), 8U);
  EXPECT_EQ(device.total_ns, 7 * 100 + 60);
}

}  // namespace
}  // namespace stepscope::analyzer
