// Ranks that a recording lacks, and what answers say of them.
#include "analyzer/whatif/missing_work.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "tests/unit/analyzer/whatif/changed_run.h"

namespace stepscope::analyzer {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::answer_of;
using testing_support::kMadeSteps;
using testing_support::StepRank;

/// Two ranks that reduce in each step. Rank 1 computes for 40 µs longer. Its all-reduces are
/// recorded in the first `recorded` steps.
model::Run reducing_ranks(int64_t recorded = kMadeSteps) {
  std::array<StepRank, 2> ranks = {StepRank(0), StepRank(1)};
  for (int64_t step = 0; step < kMadeSteps; ++step)
    for (size_t r = 0; r < 2; ++r) {
      int64_t const computed = r == 0 ? 122 : 162;
      StepRank& rank = ranks[r];
      rank.begin_step(step, 190);
      uint64_t const kernel = rank.launch(10, 20), reduce = rank.launch(20, 30);

      rank.kernel(22, computed, "gemm", kernel);
      rank.stream_wait(30, computed);
      if (r == 0 || step < recorded)
        rank.all_reduce(computed + 2, 184, 100, static_cast<uint64_t>(step) + 1, reduce);
      rank.sync(30, 187);
    }
  return testing_support::path_run(std::move(ranks[0]).finish(), std::move(ranks[1]).finish());
}

std::vector<std::string> missing_in(model::Run const& run) {
  return missing_work(run, analyze(run));
}

TEST(MissingWork, OfAWholeRecordingThereIsNone) {
  model::Run const run = reducing_ranks();
  EXPECT_THAT(missing_in(run), IsEmpty());
  EXPECT_THAT(answer_of(run, "kernel:gemm=/2").cautions, IsEmpty());
}

TEST(MissingWork, NamesRanksThatWereNotRecorded) {
  model::Run run = reducing_ranks();
  run.ranks.pop_back();
  std::string const sentence =
      "rank 1 is not in the recording: waits for it count as transfer and stay as recorded";
  EXPECT_THAT(missing_in(run), ElementsAre(sentence));

  Analysis analysis = analyze(run);
  analysis.integrity.missing_ranks = {1, 2, 3, 6};
  EXPECT_THAT(missing_work(run, analysis),
              ElementsAre("ranks 1–3, 6 are not in the recording: waits for them count as transfer "
                          "and stay as recorded"));
}

TEST(MissingWork, NamesRanksThatMissInSomeCollectives) {
  // Rank 1 was recorded in the first three of four measured steps.
  model::Run const run = reducing_ranks(3);
  EXPECT_THAT(missing_in(run),
              ElementsAre("rank 1 is recorded only in part (25 % of its collectives are without "
                          "it): waits for it count as transfer and stay as recorded there"));
}

TEST(MissingWork, IsInEachAnswerAndBesideTheReplay) {
  model::Run run = reducing_ranks();
  run.ranks.pop_back();
  WhatIfStats const stats = testing_support::ask(run, {"kernel:gemm=/2"});
  EXPECT_THAT(stats.baseline.cautions, ElementsAre(HasSubstr("rank 1 is not in the recording")));
  EXPECT_THAT(stats.answers.at(0).cautions, Contains(stats.baseline.cautions.at(0)));

  // Rank 0 waits for 40 µs in its all-reduce, and without rank 1 nothing tells.
  EXPECT_NEAR(testing_support::saved_us(run, "kernel:gemm=/2"), 50, 0.01);
}

}  // namespace
}  // namespace stepscope::analyzer
