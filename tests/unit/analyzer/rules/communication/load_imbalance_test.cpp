// When uneven work that moves from rank to rank is worth a finding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "tests/unit/analyzer/made_ranks.h"

namespace stepscope::analyzer {
namespace {

using testing_support::all_reduce_of;
using testing_support::finding_of;
using testing_support::made_steps;
using testing_support::MadeRanks;
using testing_support::metric_of;

/// In every step another one of four ranks computes longer than 1 ms by this time.
Analysis rotating(int64_t more_ns) {
  return analyze(made_steps(4, 13, [&](int32_t rank, int64_t step) {
                   return 1'000'000 + (step % 4 == rank ? more_ns : 0);
                 }).finish());
}

TEST(LoadImbalance, SpeaksFromFivePerCentOfTheStepOn) {
  // Three of four wait for the fourth: 3/4 of its extra work.
  EXPECT_EQ(finding_of(rotating(60'000), "load-imbalance"), nullptr);

  Analysis const analysis = rotating(80'000);
  Finding const* const finding = finding_of(analysis, "load-imbalance");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_NEAR(static_cast<double>(finding->cost_ns_per_step.value_or(0)), 0.75 * 80'000, 100);
  EXPECT_NEAR(metric_of(*finding, "load_balance"), (4 * 1.0 + 0.08) / (4 * 1.08), 1e-6);
  EXPECT_NEAR(metric_of(*finding, "longest_minus_mean_ns_per_step"), 0.75 * 80'000, 1);
  EXPECT_NEAR(metric_of(*finding, "share_of_worst"), 0.25, 0.05);
  EXPECT_FALSE(finding->evidence.empty());
}

TEST(LoadImbalance, OfOneRankAloneIsTheStragglers) {
  Analysis const analysis = analyze(made_steps(4, 13, [&](int32_t rank, int64_t) {
                                      return rank == 1 ? 1'300'000 : 1'000'000;
                                    }).finish());
  EXPECT_NE(finding_of(analysis, "straggler"), nullptr);
  EXPECT_EQ(finding_of(analysis, "load-imbalance"), nullptr);
}

TEST(LoadImbalance, IsNotWhatTheHostDelays) {
  MadeRanks made(2);
  int64_t begin = 0;
  for (int64_t step = 0; step < 12; ++step) {
    int64_t const end = begin + 1'301'000;
    for (int32_t r = 0; r < 2; ++r) {
      int64_t const late = step % 2 == r ? 300'000 : 0;
      made.step(r, begin, end, step);
      made.kernel(r, begin + late, begin + late + 1'000'000, begin + late);
      made.collective(r, begin + late + 1'000'000, end, begin + late,
                      all_reduce_of(r, 2, static_cast<uint64_t>(step) + 1));
    }
    begin = end;
  }

  Analysis const analysis = analyze(made.finish());
  EXPECT_GT(analysis.waits.at(0).exposed_ns, 0);
  EXPECT_EQ(finding_of(analysis, "load-imbalance"), nullptr);
}

TEST(LoadImbalance, IsNotReadFromWaitingForMessages) {
  // Ranks that wait for each other's messages may do so by design, whatever they compute.
  MadeRanks made(2);
  int64_t begin = 0;
  for (int64_t step = 0; step < 12; ++step) {
    int64_t const end = begin + 1'301'000;
    for (int32_t r = 0; r < 2; ++r) {
      int64_t const work = step % 2 == r ? 1'300'000 : 1'000'000;
      made.step(r, begin, end, step);
      made.kernel(r, begin, begin + work, begin);
      auto const op = r == 0 ? model::CollectiveOp::kSend : model::CollectiveOp::kReceive;
      made.collective(r, begin + work, end, begin,
                      {1000, 7, static_cast<uint64_t>(step) + 1, op, 2, r, 1 - r});
    }
    begin = end;
  }

  Analysis const analysis = analyze(made.finish());
  EXPECT_EQ(cause_of(analysis.waits.at(0)), std::string("compute"));
  EXPECT_EQ(finding_of(analysis, "load-imbalance"), nullptr);
}

TEST(LoadImbalance, WithinAStepCountsEvenWhereItEvensOutOverTheStep) {
  // Two layers a step: rank 0 has more of the first and rank 1 more of the second, as with the
  // experts of a mixture.
  MadeRanks made(2);
  int64_t begin = 0;
  uint64_t number = 0;

  for (int64_t step = 0; step < 8; ++step) {
    for (int32_t r = 0; r < 2; ++r) made.step(r, begin, begin + 2'202'000, step);
    int64_t at = begin;
    for (int layer = 0; layer < 2; ++layer) {
      int64_t const end = at + 1'101'000;
      ++number;
      for (int32_t r = 0; r < 2; ++r) {
        int64_t const work = layer == r ? 1'100'000 : 900'000;
        made.kernel(r, at, at + work, begin);
        made.collective(r, at + work, end, begin, all_reduce_of(r, 2, number));
      }
      at = end;
    }
    begin = at;
  }

  Analysis const analysis = analyze(made.finish());
  Finding const* const finding = finding_of(analysis, "load-imbalance");
  ASSERT_NE(finding, nullptr);
  EXPECT_NEAR(metric_of(*finding, "load_balance"), 1, 1e-9);
  EXPECT_NEAR(static_cast<double>(finding->cost_ns_per_step.value_or(0)), 200'000, 100);
}

}  // namespace
}  // namespace stepscope::analyzer
