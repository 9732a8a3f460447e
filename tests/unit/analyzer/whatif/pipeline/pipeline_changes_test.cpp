// Changes of pipelines, against the same pipeline made with the change.
#include <numeric>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/whatif/whatif.h"
#include "tests/unit/analyzer/metrics/communication/made_pipeline.h"

namespace stepscope::analyzer {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing_support::MadePipeline;

MadePipeline pipeline_of(int64_t micro_batches, bool one_by_one = true) {
  MadePipeline pipeline;
  pipeline.micro_batches = micro_batches;
  pipeline.one_by_one = one_by_one;
  pipeline.waits = true;
  return pipeline;
}

WhatIfStats ask_pipeline(MadePipeline const& pipeline, std::string const& change,
                         std::optional<ProbeRun> probe = std::nullopt) {
  model::Run const run = pipeline.make();
  auto const parsed = parse_change(change);
  EXPECT_TRUE(parsed) << change;
  return what_if(run, analyze(run), {{{*parsed}}, false, std::move(probe)});
}

double step_of(MadePipeline const& pipeline) {
  return ask_pipeline(pipeline, "class:compute=*1").baseline.step_ns;
}

ProbeRun probe_of_pipeline(MadePipeline const& pipeline) {
  model::Run const run = pipeline.make();
  return probe_of(run, analyze(run));
}

void expect_predicted(MadePipeline const& from, std::string const& change, MadePipeline const& to,
                      std::optional<ProbeRun> probe = std::nullopt) {
  WhatIfAnswer const answer = ask_pipeline(from, change, std::move(probe)).answers.at(0);
  ASSERT_FALSE(answer.is_refused) << change << ": " << answer.reason;
  EXPECT_NEAR(answer.step_ns / step_of(to), 1, 0.001) << change;

  // The parts of the critical path are those of the predicted step.
  double const sum = std::accumulate(answer.path.begin(), answer.path.end(), 0.0);
  EXPECT_NEAR(sum / answer.step_ns, 1, 0.001);
}

TEST(PipelineChanges, MoreAndFewerMicroBatchesOfTheSameSize) {
  for (bool const one_by_one : {true, false})
    for (int64_t const to : {2, 4, 16, 32})
      expect_predicted(pipeline_of(8, one_by_one),
                       "micro-batches=" + std::to_string(to) + ":same-size",
                       pipeline_of(to, one_by_one));
}

TEST(PipelineChanges, StagesMayDiffer) {
  MadePipeline from = pipeline_of(8), to = pipeline_of(24);
  from.pass_ns = to.pass_ns = {100'000, 70'000, 130'000, 90'000};
  expect_predicted(from, "micro-batches=24:same-size", to);
  from.stages = to.stages = 2;
  expect_predicted(from, "micro-batches=24:same-size", to);
}

TEST(PipelineChanges, MoreWorkAStepIsSaid) {
  WhatIfAnswer const answer =
      ask_pipeline(pipeline_of(8), "micro-batches=16:same-size").answers.at(0);
  EXPECT_THAT(answer.cautions, Contains(HasSubstr("a step does 2.00 times its work")));
}

/// A pass takes 20 µs and its share of 640 µs, which the micro-batches of a step divide.
MadePipeline batch_in(int64_t micro_batches) {
  MadePipeline pipeline = pipeline_of(micro_batches);
  pipeline.pass_ns.assign(4, 20'000 + 640'000 / micro_batches);
  return pipeline;
}

TEST(PipelineChanges, ABatchInOtherMicroBatchesNeedsASecondRun) {
  WhatIfAnswer const alone = ask_pipeline(batch_in(8), "micro-batches=16").answers.at(0);
  EXPECT_TRUE(alone.is_refused);
  EXPECT_THAT(alone.reason, HasSubstr("--probe RUN"));

  WhatIfAnswer const same =
      ask_pipeline(batch_in(8), "micro-batches=16", probe_of_pipeline(batch_in(8))).answers.at(0);
  EXPECT_THAT(same.reason, HasSubstr("another number of micro-batches than 8"));
}

TEST(PipelineChanges, ABatchInOtherMicroBatchesFollowsFromTwoRuns) {
  ProbeRun const probe = probe_of_pipeline(batch_in(4));
  for (int64_t const to : {2, 4, 8, 16, 32})
    expect_predicted(batch_in(8), "micro-batches=" + std::to_string(to), batch_in(to), probe);
}

TEST(PipelineChanges, BalancedStagesComputeForAsLong) {
  MadePipeline uneven = pipeline_of(8), even = pipeline_of(8);
  uneven.pass_ns = {100'000, 70'000, 130'000, 100'000};
  WhatIfAnswer const answer = ask_pipeline(uneven, "stages=balanced").answers.at(0);
  ASSERT_FALSE(answer.is_refused) << answer.reason;
  EXPECT_NEAR(answer.step_ns / step_of(even), 1, 0.001);
  EXPECT_THAT(answer.cautions, Contains(HasSubstr("no ranges name the layers")));
}

TEST(PipelineChanges, AreRefusedWithoutAPipeline) {
  model::Run const run =
      testing_support::made_steps(2, 4, [](int32_t, int64_t) { return int64_t{100'000}; }).finish();

  for (std::string const change :
       {"micro-batches=16", "micro-batches=16:same-size", "stages=balanced"}) {
    WhatIfAnswer const answer =
        what_if(run, analyze(run), {{{*parse_change(change)}}, false, {}}).answers.at(0);
    EXPECT_TRUE(answer.is_refused);
    EXPECT_THAT(answer.reason, HasSubstr("no pipeline whose stages hand on micro-batches"));
  }
}

}  // namespace
}  // namespace stepscope::analyzer
