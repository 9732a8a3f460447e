// Causes to which waits are attributed, compared with values worked out by hand.
#include "analyzer/metrics/communication/wait_attribution.h"

#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <random>

#include "analyzer/analyze.h"
#include "tests/unit/analyzer/made_ranks.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;
using testing_support::all_reduce_of;
using testing_support::made_steps;
using testing_support::MadeRanks;

/// ns that other ranks waited because of this, 0 without a row.
int64_t attributed_ns(Analysis const& analysis, int32_t rank, std::string const& cause,
                      std::string const& host_op = {}) {
  int64_t ns = 0;
  for (WaitStats const& row : analysis.waits)
    if (row.ref.rank_index == rank && cause_of(row) == cause &&
        (host_op.empty() || row.host_op == host_op))
      ns += row.gpu_ns;
  return ns;
}

int64_t attributed_ns(Analysis const& analysis) {
  return std::accumulate(analysis.waits.begin(), analysis.waits.end(), int64_t{0},
                         [](int64_t sum, WaitStats const& row) { return sum + row.gpu_ns; });
}

TEST(SplitExactly, PartsSumToTheAmountAndFollowTheWeights) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> weights(1 + random() % 13);
    for (double& weight : weights)
      weight = random() % 3 == 0 ? 0 : static_cast<double>(random() % 1000) * 1e-3;
    weights[0] += 1e-3;
    auto const amount = static_cast<int64_t>(random() >> (1 + random() % 62));

    std::vector<int64_t> parts(weights.size(), -1);
    split_exactly(amount, weights, parts);

    double const total = std::accumulate(weights.begin(), weights.end(), 0.0);
    int64_t sum = 0;
    for (size_t k = 0; k < parts.size(); ++k) {
      ASSERT_GE(parts[k], 0);
      sum += parts[k];  // each is at most the amount
      double const exact = static_cast<double>(amount) * weights[k] / total;
      ASSERT_NEAR(static_cast<double>(parts[k]), exact, 1 + 1e-9 * static_cast<double>(amount));
    }
    ASSERT_EQ(sum, amount);
  }
}

TEST(Waits, ComputeThatTakesLongerIsTheCause) {
  auto made =
      made_steps(3, 10, [](int32_t rank, int64_t) { return rank == 2 ? 150'000 : 100'000; });
  Analysis const analysis = analyze(made.finish());
  ASSERT_EQ(analysis.waits.size(), 1U);
  EXPECT_EQ(analysis.waits[0].ref.rank_index, 2);
  EXPECT_EQ(analysis.waits[0].cause, WaitCause::kCompute);
  EXPECT_EQ(analysis.waits[0].gpu_ns, 9 * 2 * 50'000);  // the first step is warm-up
  EXPECT_EQ(analysis.waits[0].exposed_ns, analysis.waits[0].gpu_ns);
  EXPECT_EQ(analysis.waits[0].collectives, 9U);
}

/// Rank 1 begins its work 40 µs later in every step; meanwhile its host is in `kind` named `name`.
Analysis waits_of_late_begin(EventKind kind, std::string const& name) {
  MadeRanks made(2);
  for (int64_t step = 0; step < 4; ++step) {
    int64_t const begin = 1'000'000 * (step + 1);
    for (int32_t r = 0; r < 2; ++r) {
      int64_t const late = r == 1 ? 40'000 : 0;

      made.step(r, begin, begin + 151'000, step);
      if (late > 0) made.host(r, kind, begin, begin + late, name);
      made.kernel(r, begin + late, begin + late + 100'000, begin + late);
      made.collective(r, begin + late + 100'000, begin + 141'000, begin + late,
                      all_reduce_of(r, 2, static_cast<uint64_t>(step) + 1));
    }
  }
  return analyze(made.finish());
}

TEST(Waits, AHostThatIsLateIsTheCauseAndItsOpIsNamed) {
  Analysis const analysis = waits_of_late_begin(EventKind::kRange, "logging");
  EXPECT_EQ(attributed_ns(analysis), 4 * 40'000);
  EXPECT_GT(attributed_ns(analysis, 1, "launch_starved", "logging"), 4 * 39'000);
}

TEST(Waits, DataThatComeLateAreTheCause) {
  Analysis const analysis = waits_of_late_begin(EventKind::kInputWait, "next batch");
  EXPECT_GT(attributed_ns(analysis, 1, "input", "next batch"), 4 * 39'000);
}

/// Rank 1 comes 100 late to the first of two collectives that follow each other at once. Rank 0
/// computes until 200: that hides the first collective, and the second, [170, 230), is exposed for
/// 30 ns. The host of rank 0 launches the second at `launched`; its stream waits until
/// `blocked_until`, if given.
int64_t lost_to_lateness(int64_t launched, std::optional<int64_t> blocked_until) {
  MadeRanks made(2);
  for (int32_t r = 0; r < 2; ++r) made.step(r, 0, 240, 0);
  made.kernel(0, 0, 200, 0);
  made.kernel(1, 100, 200, 100);

  made.stream_wait(0, 10, 20);
  made.collective(0, 20, 170, 0, all_reduce_of(0, 2, 1));
  made.collective(1, 120, 170, 0, all_reduce_of(1, 2, 1));

  if (blocked_until) made.stream_wait(0, 160, *blocked_until);
  made.collective(0, 170, 230, launched, all_reduce_of(0, 2, 2));
  made.collective(1, 170, 230, 0, all_reduce_of(1, 2, 2));

  Analysis const analysis = analyze(made.finish());
  EXPECT_EQ(analysis.collectives.at(1).participants.at(0).exposed_late_ns, 0)
      << "it waited for no other rank itself";
  return analysis.devices.at(0).time.exposed_late_ns;
}

TEST(Waits, ACollectiveThatBeginsLateBecauseOfTheOneBeforeItIsLost) {
  EXPECT_EQ(lost_to_lateness(30, std::nullopt), 30)
      << "it could have begun 100 earlier, and been hidden";
  EXPECT_EQ(lost_to_lateness(150, std::nullopt), 20) << "or 20 earlier, when it was launched";
  EXPECT_EQ(lost_to_lateness(30, 165), 5) << "or 5, when what it waits for was over";
}

TEST(Waits, WhatWouldBeExposedWithoutLatePeersIsNotLost) {
  // Rank 0 computes until 200, rank 1 comes late to both collectives. Without that rank 0 would
  // have the first one hidden, and the second, which needs what is computed, at [200, 260).
  MadeRanks made(2);
  for (int32_t r = 0; r < 2; ++r) made.step(r, 0, 420, 0);
  made.kernel(0, 0, 200, 0);
  made.kernel(1, 0, 350, 0);

  made.stream_wait(0, 10, 20);
  made.collective(0, 20, 250, 0, all_reduce_of(0, 2, 1));
  made.collective(1, 200, 250, 0, all_reduce_of(1, 2, 1));
  made.stream_wait(0, 190, 200);
  made.collective(0, 250, 410, 30, all_reduce_of(0, 2, 2));
  made.collective(1, 350, 410, 0, all_reduce_of(1, 2, 2));

  Analysis const analysis = analyze(made.finish());
  EXPECT_EQ(analysis.devices.at(0).time.exposed_comm_ns, 210);
  EXPECT_EQ(analysis.devices.at(0).time.exposed_late_ns, 210 - 60);
}

/// Rank 0 waits 200 for rank 1 and therefore comes 210 late, 10 of them its transfer, to the
/// collective in which rank 2 waits for it.
Analysis waits_of_chain() {
  MadeRanks made(3);
  for (int32_t r = 0; r < 3; ++r) made.step(r, 0, 400, 0);
  made.kernel(0, 0, 100, 0);
  made.kernel(1, 0, 300, 0);
  made.kernel(2, 0, 100, 0);

  made.collective(0, 100, 310, 0, all_reduce_of(0, 2, 1, 11));
  made.collective(1, 300, 310, 0, all_reduce_of(1, 2, 1, 11));
  made.collective(0, 310, 320, 0, all_reduce_of(0, 2, 1, 12));
  made.collective(2, 100, 320, 0, all_reduce_of(1, 2, 1, 12));

  return analyze(made.finish());
}

TEST(Waits, ARankThatWaitedItselfPassesTheBlameOn) {
  Analysis const analysis = waits_of_chain();
  EXPECT_EQ(attributed_ns(analysis), 200 + 210);
  EXPECT_EQ(attributed_ns(analysis, 1, "compute"), 200 + 200);
  EXPECT_EQ(attributed_ns(analysis, 0, "comm"), 10);
  EXPECT_EQ(analysis.waits[0].collectives, 1U);  // only there was it late itself
}

TEST(Waits, ThatComputeHidesDoNotMakeRanksLevel) {
  // Rank 1 is launch-bound for 500 before the second kernel. Rank 0 waits in the first reduction
  // while it still computes, and in the second when it has no work left. Rank 1 computes before the
  // second and rank 0 does not, yet the cause of that wait is rank 1's host, too.
  MadeRanks made(2);
  for (int32_t r = 0; r < 2; ++r) {
    int64_t const late = r == 1 ? 500 : 0;
    made.step(r, 0, 3000, 0);
    made.kernel(r, 0, 1000, 0);
    if (late > 0) made.host(r, EventKind::kRange, 0, 1500, "garbage");
    made.kernel(r, 1000 + late, 1600 + late, 1000 + late);
    made.kernel(r, 1600 + late, 2600 + late, 1000 + late);
    made.collective(r, 1600 + late, 2200, 0, all_reduce_of(r, 2, 1));
    made.collective(r, 2600 + late, 3200, 0, all_reduce_of(r, 2, 2));
  }

  Analysis const analysis = analyze(made.finish());
  EXPECT_EQ(attributed_ns(analysis), 500 + 500);
  EXPECT_EQ(attributed_ns(analysis, 1, "launch_starved", "garbage"), 1000);

  int64_t exposed = 0;
  for (WaitStats const& row : analysis.waits) exposed += row.exposed_ns;
  EXPECT_EQ(exposed, 500);
}

TEST(Waits, ForDevicesThatAreNotAnalyzedHaveNoKnownCause) {
  auto made =
      made_steps(2, 10, [](int32_t rank, int64_t) { return rank == 1 ? 150'000 : 100'000; });
  AnalyzeOptions options;
  options.rank = 0;
  Analysis const analysis = analyze(made.finish(), options);
  ASSERT_EQ(analysis.waits.size(), 1U);
  EXPECT_EQ(analysis.waits[0].cause, WaitCause::kUnknown);
  EXPECT_EQ(analysis.waits[0].gpu_ns, 9 * 50'000);
}

/// Two equal ranks, except that rank 1 begins step `late_step` of `steps` 1 ms later and waits
/// `more_input_ns` longer for its data.
Analysis waits_of_late_step(int64_t steps, int64_t late_step, int64_t more_input_ns) {
  constexpr int64_t kUs = 1000;
  MadeRanks made(2);
  for (int64_t step = 0; step < steps; ++step)
    for (int32_t r = 0; r < 2; ++r) {
      bool const is_late = r == 1 && step == late_step;
      int64_t const begin = 10'000 * kUs * (step + 1) + (is_late ? 1000 * kUs : 0);
      int64_t const input = 1000 * kUs + (is_late ? more_input_ns : 0);
      int64_t const join = 10'000 * kUs * (step + 1) + 3000 * kUs;  // all have come by then

      made.step(r, begin, join + 100 * kUs, step);
      made.host(r, EventKind::kInputWait, begin, begin + input, "next batch");
      made.kernel(r, begin + input, begin + input + 500 * kUs, begin + input);
      made.collective(r, begin + input + 500 * kUs, join, begin + input,
                      all_reduce_of(r, 2, static_cast<uint64_t>(step) + 1));
    }
  return analyze(made.finish());
}

TEST(Waits, NoCauseGetsMoreThanItTookLongerThanElsewhere) {
  Analysis const analysis = waits_of_late_step(1, 0, 30'000);
  EXPECT_EQ(attributed_ns(analysis), 1'030'000);
  EXPECT_NEAR(static_cast<double>(attributed_ns(analysis, 1, "input", "next batch")), 30'000, 10);
  EXPECT_NEAR(static_cast<double>(attributed_ns(analysis, 1, "before_recording")), 1'000'000, 10);
}

TEST(Waits, AStepThatBeginsLateIsTheCauseWhereNothingElseDiffers) {
  EXPECT_EQ(attributed_ns(waits_of_late_step(1, 0, 0), 1, "before_recording"), 1'000'000);
  Analysis const later = waits_of_late_step(3, 2, 0);
  EXPECT_EQ(attributed_ns(later, 1, "before_recording"), 0) << "there is a step before";
}

}  // namespace
}  // namespace stepscope::analyzer
