// When a link that is slower than its equals, or slow at times, is worth a finding.
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "tests/unit/analyzer/metrics/communication/made_pipeline.h"

namespace stepscope::analyzer {
namespace {

using testing_support::all_reduce_of;
using testing_support::finding_of;
using testing_support::MadePipeline;
using testing_support::MadeRanks;
using testing_support::metric_of;
using testing_support::subject_of;

/// In every step pairs of ranks compute for 1 ms and then reduce on their own communicator, which
/// takes `transfer(pair, step)`. A hidden reduction runs while they compute.
Analysis reduced_in_pairs(int32_t pairs, int64_t steps,
                          std::function<int64_t(int32_t, int64_t)> const& transfer,
                          bool is_hidden = false) {
  MadeRanks made(2 * pairs);
  for (int32_t r = 0; r < 2 * pairs; ++r) {
    int64_t begin = 0;
    for (int64_t step = 0; step < steps; ++step) {
      int64_t const reduce = is_hidden ? begin : begin + 1'000'000;
      int64_t const reduced = reduce + transfer(r / 2, step),
                    end = std::max(reduced, begin + 1'000'000);

      made.step(r, begin, end, step);
      made.kernel(r, begin, begin + 1'000'000, begin);
      made.collective(r, reduce, reduced, begin,
                      all_reduce_of(r % 2, 2, static_cast<uint64_t>(step) + 1,
                                    static_cast<uint64_t>(50 + r / 2)));
      begin = end;
    }
  }
  return analyze(made.finish());
}

TEST(SlowLink, IsACommunicatorThatTakesHalfAsLongAgainAsItsEquals) {
  auto const with = [](int64_t slow) {
    return reduced_in_pairs(3, 9,
                            [=](int32_t pair, int64_t) { return pair == 1 ? slow : 200'000; });
  };

  EXPECT_EQ(finding_of(with(290'000), "slow-link"), nullptr);
  Analysis const analysis = with(320'000);
  Finding const* const finding = finding_of(analysis, "slow-link");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->cost_ns_per_step, 120'000);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_EQ(finding->where->rank_index, 2);
  EXPECT_EQ(subject_of(*finding, "communicator"), "0x33");
  EXPECT_NEAR(metric_of(*finding, "ratio"), 1.6, 1e-9);
  EXPECT_EQ(metric_of(*finding, "slow_share"), 1);
}

TEST(SlowLink, OfTwoIsOnlyOneThatTakesTwiceAsLong) {
  auto const with = [](int64_t slow) {
    return reduced_in_pairs(2, 9,
                            [=](int32_t pair, int64_t) { return pair == 1 ? slow : 200'000; });
  };
  EXPECT_EQ(finding_of(with(390'000), "slow-link"), nullptr);
  EXPECT_NE(finding_of(with(410'000), "slow-link"), nullptr);
}

TEST(SlowLink, IsOneThatIsSlowForAFifthOfItsMessages) {
  auto const with = [](int64_t every) {
    return reduced_in_pairs(2, 41, [=](int32_t pair, int64_t step) {
      return pair == 0 && step % every == 1 ? 600'000 : 200'000;
    });
  };

  EXPECT_EQ(finding_of(with(6), "slow-link"), nullptr);
  Analysis const analysis = with(4);
  Finding const* const finding = finding_of(analysis, "slow-link");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->cost_ns_per_step, 100'000);
  EXPECT_EQ(metric_of(*finding, "slow_share"), 0.25);
}

TEST(SlowLink, IsNoneWhereThereIsOneAlone) {
  Analysis const analysis = reduced_in_pairs(
      1, 41, [](int32_t, int64_t step) { return step % 4 == 1 ? 600'000 : 200'000; });
  EXPECT_EQ(finding_of(analysis, "slow-link"), nullptr);
}

TEST(SlowLink, CostsNothingBehindCompute) {
  auto const transfer = [](int32_t pair, int64_t) { return pair == 1 ? 900'000 : 200'000; };
  EXPECT_NE(finding_of(reduced_in_pairs(3, 9, transfer), "slow-link"), nullptr);
  EXPECT_EQ(finding_of(reduced_in_pairs(3, 9, transfer, true), "slow-link"), nullptr);
}

/// In every step pairs of ranks compute for 1 ms and reduce, which takes the second pair 0.4 ms
/// longer than the others. Then the first pair computes for `more`, and all ranks reduce together.
Analysis reduced_in_pairs_and_by_all(int64_t more) {
  MadeRanks made(6);
  int64_t begin = 0;
  for (int64_t step = 0; step < 9; ++step) {
    auto const sequence = static_cast<uint64_t>(step) + 1;
    int64_t const end = begin + std::max<int64_t>(1'600'000, 1'200'000 + more) + 50'000;
    for (int32_t r = 0; r < 6; ++r) {
      int64_t const reduced = begin + (r / 2 == 1 ? 1'600'000 : 1'200'000),
                    ready = reduced + (r / 2 == 0 ? more : 0);

      made.step(r, begin, end, step);
      made.kernel(r, begin, begin + 1'000'000, begin);
      made.collective(r, begin + 1'000'000, reduced, begin,
                      all_reduce_of(r % 2, 2, sequence, static_cast<uint64_t>(50 + r / 2)));
      if (ready > reduced) made.kernel(r, reduced, ready, begin);
      made.collective(r, ready, end, begin, all_reduce_of(r, 6, sequence));
    }
    begin = end;
  }
  return analyze(made.finish());
}

TEST(SlowLink, CostsWhatTheStepWouldBeShorterNotWhatIsWaitedElsewhereThen) {
  for (int64_t const more : {int64_t{0}, int64_t{100'000}, int64_t{250'000}}) {
    Analysis const analysis = reduced_in_pairs_and_by_all(more);
    Finding const* const finding = finding_of(analysis, "slow-link");
    ASSERT_NE(finding, nullptr) << more;
    EXPECT_EQ(finding->cost_ns_per_step, 400'000 - more);
    EXPECT_NEAR(metric_of(*finding, "exposed_share"), 400.0 / 1650, 1e-6);
  }
  EXPECT_EQ(finding_of(reduced_in_pairs_and_by_all(390'000), "slow-link"),
            nullptr);  // all come at the same time anyway
}

TEST(SlowLink, IsNotNamedAgainAsExposedCommunication) {
  auto const transfer = [](int32_t pair, int64_t) { return pair == 1 ? 900'000 : 200'000; };
  Analysis const analysis = reduced_in_pairs(3, 9, transfer);
  EXPECT_EQ(analysis.findings.at(0).rule, "slow-link");
  Finding const* const rest = finding_of(analysis, "exposed-communication");
  ASSERT_NE(rest, nullptr);
  EXPECT_EQ(rest->cost_ns_per_step, 200'000);
}

TEST(SlowLink, BetweenTwoStagesIsNamedByTheirRanksAndTheBubbleIsNotBlamed) {
  MadePipeline options{.transfer_ns = 10'000};
  EXPECT_EQ(finding_of(analyze(options.make()), "slow-link"), nullptr);

  options.slow_boundary[1] = 80'000;
  Analysis const analysis = analyze(options.make());
  Finding const* const finding = finding_of(analysis, "slow-link");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(subject_of(*finding, "ranks"), "1, 2");
  EXPECT_EQ(subject_of(*finding, "op"), "send");
  EXPECT_EQ(analysis.findings.at(0).rule, "slow-link");

  Finding const* const bubble = finding_of(analysis, "pipeline-bubble");
  ASSERT_NE(bubble, nullptr);
  EXPECT_EQ(bubble->severity, Severity::kInfo);
  EXPECT_EQ(finding_of(analysis, "straggler"), nullptr);
}

TEST(SlowLink, NeedsLinksOfTheSameKind) {
  // Larger messages take longer, on the same link and on others.
  MadeRanks made(4);
  for (int32_t r = 0; r < 4; ++r)
    for (int64_t step = 0; step < 9; ++step) {
      int64_t const begin = step * 2'000'000, transfer = r < 2 ? 200'000 : 800'000;
      made.step(r, begin, begin + 2'000'000, step);
      made.kernel(r, begin, begin + 1'000'000, begin);
      model::CollectiveDetail detail = all_reduce_of(r % 2, 2, static_cast<uint64_t>(step) + 1,
                                                     static_cast<uint64_t>(50 + r / 2));
      detail.bytes = r < 2 ? 1000 : 4000;
      made.collective(r, begin + 1'000'000, begin + 1'000'000 + transfer, begin, detail);
    }

  EXPECT_EQ(finding_of(analyze(made.finish()), "slow-link"), nullptr);
}

}  // namespace
}  // namespace stepscope::analyzer
