// Which runs are pipelines, and how long their stages wait for each other.
#include "analyzer/metrics/communication/pipeline.h"

#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "tests/unit/analyzer/metrics/communication/made_pipeline.h"

namespace stepscope::analyzer {
namespace {

using model::CollectiveDetail;
using model::CollectiveOp;
using testing_support::MadePipeline;
using testing_support::MadeRanks;

std::vector<PipelineStats> pipelines_of(MadePipeline const& options) {
  return analyze(options.make()).pipelines;
}

std::vector<int32_t> ranks_of(PipelineStats const& pipeline) {
  std::vector<int32_t> ranks;
  for (PipelineStats::Stage const& stage : pipeline.stages) ranks.push_back(stage.ref.rank_index);
  return ranks;
}

TEST(Pipelines, OfEqualStagesWaitAsLongAsTheirSchedulesMust) {
  for (bool const one_by_one : {false, true})
    for (int32_t const stages : {2, 3, 4})
      for (int64_t const micro_batches : {2, 4, 8}) {
        auto const found = pipelines_of(
            {.stages = stages, .micro_batches = micro_batches, .one_by_one = one_by_one});

        ASSERT_EQ(found.size(), 1U);
        EXPECT_EQ(found[0].micro_batches, micro_batches);
        EXPECT_EQ(found[0].schedule,
                  one_by_one ? PipelineSchedule::kOneForwardOneBackward : PipelineSchedule::kGpipe)
            << stages << " stages, " << micro_batches << " micro-batches";
        EXPECT_NEAR(found[0].ideal_share,
                    (stages - 1.0) / static_cast<double>(micro_batches + stages - 1), 1e-12);
        EXPECT_NEAR(found[0].bubble_share, found[0].ideal_share, 0.002);
        EXPECT_NEAR(found[0].imbalance, 1, 0.001);

        for (PipelineStats::Stage const& stage : found[0].stages) {
          EXPECT_EQ(stage.steps, 5U);  // without the first
          EXPECT_EQ(stage.compute_ns, 5 * 2 * micro_batches * 100'000);
        }
      }
}

TEST(Pipelines, StagesComeInTheirOrderWhateverTheirRanks) {
  auto const found = pipelines_of({.ranks = {2, 0, 3, 1}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(ranks_of(found[0]), (std::vector<int32_t>{2, 0, 3, 1}));
}

TEST(Pipelines, OneMicroBatchShowsNoSchedule) {
  auto const found = pipelines_of({.stages = 2, .micro_batches = 1});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].schedule, PipelineSchedule::kUnknown);
}

TEST(Pipelines, WhatDescribesTheDataIsNoMicroBatch) {
  auto const found = pipelines_of({.with_shapes = true});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].micro_batches, 8U);
}

TEST(Pipelines, AStageWithMoreToDoMakesThemUnequal) {
  auto const found = pipelines_of({.pass_ns = {100'000, 180'000, 100'000, 100'000}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0].imbalance, 1.8 / 1.2, 0.001);
  EXPECT_GT(found[0].bubble_share, found[0].ideal_share + 0.1);
}

/// In every step each pair exchanges four messages in both directions at once, after all ranks have
/// computed.
std::vector<PipelineStats> exchanged(int32_t ranks,
                                     std::vector<std::pair<int32_t, int32_t>> const& pairs) {
  MadeRanks made(ranks);
  int64_t begin = 0;
  uint64_t number = 0;

  for (int64_t step = 0; step < 4; ++step) {
    for (int32_t r = 0; r < ranks; ++r) made.step(r, begin, begin + 900, step);
    for (int i = 0; i < 4; ++i) {
      ++number;
      int64_t const at = begin + i * 200;
      for (int32_t r = 0; r < ranks; ++r) made.kernel(r, at, at + 100, begin);
      for (auto const& [a, b] : pairs)
        for (auto const& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
          auto const communicator = static_cast<uint64_t>(1 + 10 * from + to);
          size_t const stream = from < to ? 0 : 1;
          made.collective(from, at + 100, at + 150, begin,
                          {64, communicator, number, CollectiveOp::kSend, 2, 0, 1}, stream);
          made.collective(to, at + 100, at + 150, begin,
                          {64, communicator, number, CollectiveOp::kReceive, 2, 1, 0}, stream);
        }
    }
    begin += 1000;
  }

  return analyze(made.finish()).pipelines;
}

TEST(Pipelines, AreNoRingsNoExchangesAndNoMeshes) {
  EXPECT_TRUE(exchanged(2, {{0, 1}}).empty());
  EXPECT_TRUE(exchanged(4, {{0, 1}, {1, 2}, {2, 3}}).empty());
  EXPECT_TRUE(exchanged(4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}).empty());
  EXPECT_TRUE(exchanged(4, {{0, 1}, {0, 2}, {0, 3}}).empty());
}

TEST(Pipelines, WithoutStepsOrWithOneRankAloneAreNotKnown) {
  model::Run run = MadePipeline{.stages = 2}.make();
  AnalyzeOptions options;
  options.rank = 0;
  EXPECT_TRUE(analyze(run, options).pipelines.empty());
  run.ranks.pop_back();
  EXPECT_TRUE(analyze(run).pipelines.empty());
}

TEST(Pipelines, OfSeveralReplicasAreFoundEachForItself) {
  model::Run run = MadePipeline{.stages = 2}.make();
  model::Run second = MadePipeline{.stages = 2, .ranks = {1, 0}, .communicators = 500}.make();
  for (model::RankTrace& rank : second.ranks) {
    rank.trace.assume_rank(rank.trace.info().rank + 2);
    run.ranks.push_back(std::move(rank));
  }

  auto const found = analyze(run).pipelines;
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(ranks_of(found[0]), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(ranks_of(found[1]), (std::vector<int32_t>{3, 2}));
}

}  // namespace
}  // namespace stepscope::analyzer
