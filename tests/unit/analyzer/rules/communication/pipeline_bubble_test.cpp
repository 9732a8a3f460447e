// When the pipeline bubble is worth a finding, its severity, and that no other rule reports the
// same wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "tests/unit/analyzer/metrics/communication/made_pipeline.h"

namespace stepscope::analyzer {
namespace {

using testing_support::finding_of;
using testing_support::MadePipeline;
using testing_support::metric_of;
using testing_support::subject_of;

std::vector<std::string> rules_of_pipeline(Analysis const& analysis) {
  std::vector<std::string> rules;
  for (Finding const& finding : analysis.findings) rules.push_back(finding.rule);
  return rules;
}

TEST(PipelineBubble, IsSilentBelowFivePerCentAndSpeaksAbove) {
  // Two stages: 1 / (m + 1).
  EXPECT_EQ(
      finding_of(analyze(MadePipeline{.stages = 2, .micro_batches = 22}.make()), "pipeline-bubble"),
      nullptr);
  EXPECT_NE(
      finding_of(analyze(MadePipeline{.stages = 2, .micro_batches = 16}.make()), "pipeline-bubble"),
      nullptr);
}

TEST(PipelineBubble, OfTheScheduleIsAWarningUntilThereAreEnoughMicroBatches) {
  Analysis const few = analyze(MadePipeline{}.make());  // four stages, eight micro-batches
  Finding const* finding = finding_of(few, "pipeline-bubble");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_EQ(subject_of(*finding, "schedule"), "1f1b");
  // 16 passes and 3 × 2 more while it fills and drains.
  EXPECT_NEAR(static_cast<double>(finding->cost_ns_per_step.value_or(0)), 6 * 100'000, 5'000);
  EXPECT_NEAR(metric_of(*finding, "doubled_share"), 3.0 / 19, 1e-9);
  EXPECT_FALSE(finding->evidence.empty());

  Analysis const enough = analyze(MadePipeline{.micro_batches = 16}.make());
  finding = finding_of(enough, "pipeline-bubble");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kInfo);
}

TEST(PipelineBubble, IsNotNamedTwice) {
  for (bool const one_by_one : {false, true})
    for (int64_t const micro_batches : {4, 8, 16})
      EXPECT_THAT(
          rules_of_pipeline(analyze(
              MadePipeline{.micro_batches = micro_batches, .one_by_one = one_by_one}.make())),
          testing::ElementsAre("pipeline-bubble"));
}

TEST(PipelineBubble, NamesTheStageThatHasMoreToDo) {
  auto const analysis = [](int64_t pass_ns) {
    return analyze(MadePipeline{.pass_ns = {100'000, 100'000, pass_ns, 100'000}}.make());
  };

  Analysis const equal = analysis(105'000), unequal = analysis(118'000);
  ASSERT_NE(finding_of(equal, "pipeline-bubble"), nullptr);
  EXPECT_EQ(subject_of(*finding_of(equal, "pipeline-bubble"), "cause"), "");

  Finding const* const finding = finding_of(unequal, "pipeline-bubble");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(subject_of(*finding, "cause"), "imbalance");
  EXPECT_EQ(finding->where->rank_index, 2);
  EXPECT_EQ(metric_of(*finding, "slowest_stage"), 2);
  EXPECT_THAT(rules_of_pipeline(unequal), testing::ElementsAre("pipeline-bubble"));
}

TEST(PipelineBubble, LeavesAStageThatIsTheStragglerToThatRule) {
  Analysis const analysis =
      analyze(MadePipeline{.stages = 2, .pass_ns = {300'000, 100'000}}.make());
  ASSERT_NE(finding_of(analysis, "straggler"), nullptr);
  EXPECT_EQ(finding_of(analysis, "straggler")->where->rank_index, 0);

  Finding const* const bubble = finding_of(analysis, "pipeline-bubble");
  ASSERT_NE(bubble, nullptr);
  EXPECT_EQ(bubble->severity, Severity::kInfo);
  EXPECT_NEAR(metric_of(*bubble, "share"), 1.0 / 9, 1e-3);  // what equal stages would lose
  EXPECT_GT(metric_of(*bubble, "bubble_share"), 0.25);
  EXPECT_EQ(finding_of(analysis, "load-imbalance"), nullptr);
}

TEST(PipelineBubble, PromisesWhatItsRemediesGive) {
  // Four equal stages wait for 3 / (m + 3) of the step; m twice as large halves that time.
  for (int64_t const micro_batches : {2, 4, 8, 16}) {
    Analysis const analysis = analyze(MadePipeline{.micro_batches = micro_batches}.make());
    Finding const* const finding = finding_of(analysis, "pipeline-bubble");
    ASSERT_NE(finding, nullptr) << micro_batches;

    double const ideal = 3.0 / static_cast<double>(micro_batches + 3),
                 doubled = 3.0 / static_cast<double>(2 * micro_batches + 3);
    EXPECT_NEAR(finding->gain_ceiling.value_or(-1), (1 - doubled) / (1 - ideal) - 1, 0.002)
        << micro_batches;
    double const without_bubble = 1 / (1 - metric_of(*finding, "bubble_share")) - 1;
    EXPECT_LT(*finding->gain_ceiling, without_bubble) << micro_batches;
  }
}

TEST(PipelineBubble, EqualStagesGiveNoMoreThanTheSlowestStageExceedsTheMean) {
  Analysis const analysis =
      analyze(MadePipeline{.pass_ns = {100'000, 100'000, 118'000, 100'000}}.make());
  Finding const* const finding = finding_of(analysis, "pipeline-bubble");
  ASSERT_NE(finding, nullptr);
  double const imbalance = metric_of(*finding, "stage_imbalance"),
               ideal = metric_of(*finding, "ideal_share");
  EXPECT_GT(*finding->gain_ceiling, 1 / (1 - ideal / 2) - 1);
  EXPECT_LE(*finding->gain_ceiling, imbalance / (1 - ideal / 2) - 1 + 1e-9);
}

}  // namespace
}  // namespace stepscope::analyzer
