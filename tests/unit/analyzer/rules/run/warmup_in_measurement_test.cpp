// warmup-in-measurement, and which of the long steps are step-outliers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/rules/rule.h"

namespace stepscope::analyzer {
namespace {

/// One device whose steps have these lengths, back to back; the first is marked as warm-up. A step
/// computes for 100 ns at most and idles in the rest.
Analysis steps_of(std::vector<int64_t> const& lengths) {
  Analysis facts;
  facts.devices.emplace_back();
  std::vector<IdleGap> gaps;
  int64_t at = 0;

  for (size_t i = 0; i < lengths.size(); ++i) {
    StepStats step;
    step.step = static_cast<int64_t>(i);
    step.window = {at, at + lengths[i]};
    step.warmup = i == 0;
    step.time.window_ns = lengths[i];
    step.time.compute_ns = std::min<int64_t>(lengths[i], 100);
    at += lengths[i];
    if (lengths[i] > 100)
      gaps.push_back({step.ref, {step.window.begin + 100, at}, IdleCause::kAllocation, {}, {}});
    facts.steps.push_back(step);
  }

  facts.gaps = IdleGaps(gaps);
  facts.devices[0].window = {0, at};
  return facts;
}

std::vector<Finding> findings_of(std::vector<int64_t> const& lengths) {
  Analysis const facts = steps_of(lengths);
  model::Run run;
  run.ranks.emplace_back();
  return find_all(run, facts);
}

std::vector<int64_t> with_start(std::vector<int64_t> start, size_t later, int64_t steady = 100) {
  start.insert(start.begin(), 5000);  // marked as warm-up
  start.insert(start.end(), later, steady);
  return start;
}

std::vector<std::string> rules_about_steps(std::vector<int64_t> const& lengths) {
  std::vector<std::string> rules;
  for (Finding const& finding : findings_of(lengths))
    if (finding.rule == "step-outliers" || finding.rule == "warmup-in-measurement")
      rules.push_back(finding.rule);
  std::sort(rules.begin(), rules.end());
  return rules;
}

TEST(WarmupInMeasurement, ReportsHowManyStepsToLeaveOutAndWhatTheyAdd) {
  auto const findings = findings_of(with_start({400, 300, 200}, 7));
  auto const at = std::find_if(findings.begin(), findings.end(),
                               [](Finding const& f) { return f.rule == "warmup-in-measurement"; });
  ASSERT_NE(at, findings.end());
  EXPECT_EQ(at->severity, Severity::kWarning);
  EXPECT_EQ(at->cost_ns_per_step, 60);  // (900 + 700) / 10 − 100
  EXPECT_FALSE(at->gain_ceiling);

  EXPECT_THAT(at->metrics, testing::Contains(std::pair<std::string, double>{"slow_steps", 3}));
  EXPECT_THAT(at->metrics,
              testing::Contains(std::pair<std::string, double>{"steps_to_leave_out", 4}));
  EXPECT_THAT(at->metrics,
              testing::Contains(std::pair<std::string, double>{"median_step_ns", 100}));
  EXPECT_THAT(at->subjects,
              testing::Contains(std::pair<std::string, std::string>{"part", "allocation"}));
  EXPECT_EQ(at->evidence.size(), 3U);

  // The time that slow steps lose is no fault of the steady step.
  EXPECT_TRUE(std::none_of(findings.begin(), findings.end(),
                           [](Finding const& f) { return f.rule == "allocation-in-step"; }));
}

TEST(WarmupInMeasurement, NeedsStepsFarLongerThanTheLaterOnes) {
  using testing::ElementsAre;
  EXPECT_THAT(rules_about_steps(with_start({151, 151}, 8)), ElementsAre("warmup-in-measurement"));
  EXPECT_TRUE(rules_about_steps(with_start({150, 150}, 8)).empty());
}

TEST(WarmupInMeasurement, IsSilentWhereTheMeanHardlyChanges) {
  // 2 % of the mean: 100 of 100 · n.
  EXPECT_THAT(rules_about_steps(with_start({200}, 48)),
              testing::ElementsAre("warmup-in-measurement"));
  EXPECT_TRUE(rules_about_steps(with_start({200}, 52)).empty());
}

TEST(WarmupInMeasurement, NeedsEnoughStepsToSettle) {
  EXPECT_FALSE(rules_about_steps(with_start({400}, 7)).empty());
  EXPECT_TRUE(rules_about_steps(with_start({400}, 6)).empty());
  EXPECT_FALSE(rules_about_steps(with_start({400, 400, 400, 400}, 6)).empty());
  EXPECT_TRUE(rules_about_steps(with_start({400, 400, 400, 400, 400}, 5)).empty());
}

TEST(WarmupInMeasurement, ScatteredLongStepsAreOutliers) {
  using testing::ElementsAre;
  EXPECT_THAT(rules_about_steps(with_start({400, 100, 100, 100, 400}, 7)),
              ElementsAre("step-outliers"));
  EXPECT_THAT(rules_about_steps(with_start({100, 400}, 10)), ElementsAre("step-outliers"));

  // It does not settle: the third is longer again.
  EXPECT_THAT(rules_about_steps(with_start({200, 160, 400}, 20)), ElementsAre("step-outliers"));

  // Several at the beginning, and one later for another reason.
  std::vector<int64_t> both = with_start({400, 300}, 14);
  both[10] = 500;
  EXPECT_THAT(rules_about_steps(both), ElementsAre("step-outliers", "warmup-in-measurement"));

  for (Finding const& finding : findings_of(both)) {
    if (finding.rule != "step-outliers") continue;
    EXPECT_EQ(finding.evidence.size(), 1U);
    EXPECT_EQ(finding.evidence[0].when.length(), 500);
  }
}

TEST(StepOutliers, AreFarBeyondWhatStepsVaryByAnyway) {
  std::vector<int64_t> noisy = {5000};
  for (int i = 0; i < 40; ++i) noisy.push_back(i % 5 < 3 ? 100 : 180);
  EXPECT_TRUE(rules_about_steps(noisy).empty());

  noisy[20] = 430;  // the fence: 180 + 3 · (180 − 100) = 420
  noisy[30] = 410;
  auto const findings = findings_of(noisy);
  auto const at = std::find_if(findings.begin(), findings.end(),
                               [](Finding const& f) { return f.rule == "step-outliers"; });

  ASSERT_NE(at, findings.end());
  ASSERT_EQ(at->evidence.size(), 1U);
  EXPECT_EQ(at->evidence[0].when.length(), 430);
}

TEST(WarmupInMeasurement, NoiseOfTheWarmUpIsNoRise) {
  EXPECT_THAT(rules_about_steps(with_start({400, 430, 200}, 10)),
              testing::ElementsAre("warmup-in-measurement"));
  EXPECT_THAT(rules_about_steps(with_start({400, 450, 200}, 10)),
              testing::ElementsAre("step-outliers"));
}

}  // namespace
}  // namespace stepscope::analyzer
