// Why a straggler is late. synthetic_run_test.cpp tests when a straggler is found.
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "tests/support/synthetic_run.h"
#include "tests/unit/analyzer/made_ranks.h"

namespace stepscope::analyzer {
namespace {

using testing_support::all_reduce_of;
using testing_support::finding_of;
using testing_support::MadeRanks;
using testing_support::metric_of;
using testing_support::subject_of;

/// Rank 1 arrives 400 µs after the other rank at the reduction of every step. `delay` fills the 400
/// µs from the begin of the step.
template <class Delay>
Finding straggler_late_by(Delay delay) {
  constexpr int64_t kLate = 400'000;
  MadeRanks made(2);
  int64_t begin = 0;
  for (int64_t step = 0; step < 8; ++step) {
    int64_t const end = begin + kLate + 1'001'000;
    for (int32_t r = 0; r < 2; ++r) {
      made.step(r, begin, end, step);

      int64_t const from = begin + (r == 1 ? kLate : 0);
      if (r == 1) delay(made, begin, from);
      made.kernel(r, from, from + 1'000'000, from);
      made.collective(r, from + 1'000'000, end, from,
                      all_reduce_of(r, 2, static_cast<uint64_t>(step) + 1));
    }
    begin = end;
  }

  Analysis const analysis = analyze(made.finish());
  Finding const* const finding = finding_of(analysis, "straggler");
  EXPECT_NE(finding, nullptr);
  return finding == nullptr ? Finding() : *finding;
}

/// Rank 1 makes rank 0 wait for 400 µs of each step, and waits for 150 µs itself.
TEST(Straggler, IsNotFoundWhereOnlyItsOwnWaitsAreAskedFor) {
  constexpr int64_t kUs = 1000, kStep = 1620 * kUs;
  MadeRanks made(2);
  for (int64_t step = 0; step < 8; ++step) {
    int64_t const begin = step * kStep;
    auto const at = [&](int64_t us) { return begin + us * kUs; };
    auto const number = static_cast<uint64_t>(2 * step);
    for (int32_t r = 0; r < 2; ++r) {
      made.step(r, begin, begin + kStep, step);
      int64_t const first = at(r == 0 ? 1000 : 1400), second = at(r == 0 ? 1610 : 1460);
      made.kernel(r, begin, first, begin);
      made.collective(r, first, at(1410), begin, all_reduce_of(r, 2, number + 1));
      made.kernel(r, at(1410), second, begin);
      made.collective(r, second, at(1620), begin, all_reduce_of(r, 2, number + 2));
    }
  }

  model::Run const run = made.finish();
  Analysis const whole = analyze(run);
  ASSERT_NE(finding_of(whole, "straggler"), nullptr);
  EXPECT_EQ(finding_of(whole, "straggler")->where->rank_index, 1);
  AnalyzeOptions only;
  only.rank = 1;
  EXPECT_EQ(finding_of(analyze(run, only), "straggler"), nullptr);
}

/// In each step rank 0 waits twice for rank 1: 600 µs that compute hides, and 330 µs that it does
/// not.
TEST(Straggler, ShowsTheWaitsThatCostSomething) {
  constexpr int64_t kUs = 1000, kStep = 2000 * kUs;
  MadeRanks made(2);
  for (int64_t step = 0; step < 8; ++step) {
    auto const at = [&](int64_t us) { return step * kStep + us * kUs; };
    auto const number = static_cast<uint64_t>(2 * step);
    for (int32_t r = 0; r < 2; ++r) {
      int64_t const first = at(r == 0 ? 1000 : 1600), second = at(r == 0 ? 1620 : 1950);
      made.step(r, at(0), at(2000), step);
      made.kernel(r, at(0), first, at(0));
      made.collective(r, first, at(1610), at(0), all_reduce_of(r, 2, number + 1));
      made.kernel(r, r == 0 ? first : at(1610), second, at(0));
      made.collective(r, second, at(2000), at(0), all_reduce_of(r, 2, number + 2));
    }
  }

  Analysis const analysis = analyze(made.finish());
  Finding const* const finding = finding_of(analysis, "straggler");
  ASSERT_NE(finding, nullptr);
  ASSERT_FALSE(finding->evidence.empty());
  for (Finding::Evidence const& place : finding->evidence) {
    EXPECT_EQ(place.when.begin % kStep, 1620 * kUs);
    EXPECT_EQ(place.when.length(), 330 * kUs);
  }
}

TEST(StragglerCause, IsItsHostWithTheNameOfWhatItDoes) {
  Finding const finding = straggler_late_by([](MadeRanks& made, int64_t begin, int64_t end) {
    made.host(1, model::EventKind::kRange, begin, end, "save checkpoint");
  });
  EXPECT_EQ(subject_of(finding, "cause"), "host");
  EXPECT_EQ(subject_of(finding, "host_op"), "save checkpoint");
  EXPECT_GT(metric_of(finding, "cause_share"), 0.99);
  EXPECT_EQ(finding.where->rank_index, 1);
}

TEST(StragglerCause, IsItsData) {
  Finding const finding = straggler_late_by([](MadeRanks& made, int64_t begin, int64_t end) {
    made.host(1, model::EventKind::kInputWait, begin, end, "next batch");
  });
  EXPECT_EQ(subject_of(finding, "cause"), "input");
  EXPECT_EQ(subject_of(finding, "host_op"), "next batch");
}

TEST(StragglerCause, IsItsCompute) {
  Finding const finding = straggler_late_by(
      [](MadeRanks& made, int64_t begin, int64_t end) { made.kernel(1, begin, end, begin); });
  EXPECT_EQ(subject_of(finding, "cause"), "compute");
  EXPECT_EQ(subject_of(finding, "host_op"), "");
}

TEST(StragglerCause, IsItsCopies) {
  Finding const finding = straggler_late_by(
      [](MadeRanks& made, int64_t begin, int64_t end) { made.copy(1, begin, end, begin); });
  EXPECT_EQ(subject_of(finding, "cause"), "copy");
}

/// One step, which rank 1 begins 400 µs later than the other rank; both wait for their data for the
/// same time.
Analysis one_step_that_begins_late() {
  MadeRanks made(2);
  for (int32_t r = 0; r < 2; ++r) {
    int64_t const begin = r == 1 ? 400'000 : 0;
    made.step(r, begin, 1'501'000, 0);
    made.host(r, model::EventKind::kInputWait, begin, begin + 100'000, "next batch");
    made.kernel(r, begin + 100'000, begin + 1'000'000, begin + 100'000);
    made.collective(r, begin + 1'000'000, 1'501'000, begin + 100'000, all_reduce_of(r, 2, 1));
  }
  return analyze(made.finish());
}

TEST(StragglerCause, IsNotWhatTheOthersDoAsLong) {
  Analysis const analysis = one_step_that_begins_late();
  Finding const* const finding = finding_of(analysis, "straggler");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->where->rank_index, 1);
  EXPECT_EQ(subject_of(*finding, "cause"), "before_recording");
  EXPECT_EQ(subject_of(*finding, "host_op"), "");
  EXPECT_FALSE(finding->gain_ceiling) << "the cause of the delay is not known";
  EXPECT_DOUBLE_EQ(metric_of(*finding, "share_of_waits"), 1) << "as the table of waits has it";
}

TEST(StragglerCause, IsNamedForADeviceThatComputesLongerBehindItsReductions) {
  support::SyntheticOptions options;
  options.devices = 4;
  options.steps = 10;
  options.straggler_device = 2;
  Analysis const analysis = analyze(make_synthetic_run(options));
  Finding const* const finding = finding_of(analysis, "straggler");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(subject_of(*finding, "cause"), "compute");
}

TEST(StragglerCause, IsNoDifferenceOfClocks) {
  support::SyntheticOptions options;
  options.steps = 12;
  options.process_per_device = true;
  model::Run run = make_synthetic_run(options);
  run.ranks[1].offset_ns += 3'000'000;  // by as much it seems to come late
  EXPECT_EQ(finding_of(analyze(run), "straggler"), nullptr);
}

}  // namespace
}  // namespace stepscope::analyzer
