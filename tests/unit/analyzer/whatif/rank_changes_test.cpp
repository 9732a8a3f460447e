// Changes of what two ranks do together, each on a run whose answer one can compute by hand.
#include <algorithm>
#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analyzer/whatif/changed_run.h"

namespace stepscope::analyzer {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::answer_of;
using testing_support::kMadeSteps;
using testing_support::refusal_of;
using testing_support::saved_us;
using testing_support::saved_us_at_once;
using testing_support::StepRank;

constexpr double kOneNsInRanks = 0.0011;  // in µs

/// µs that a rank prepares, and that its kernel takes.
struct RankWork {
  int64_t prepare = 10, kernel = 100;
};

/// In each step a rank prepares, launches a kernel and an all-reduce (10 µs each), and waits for
/// both. The kernel begins 2 µs behind its launch, the all-reduce 2 µs behind the kernel. From the
/// arrival of the later rank on it takes 20 µs. The host goes on 3 µs behind it.
model::Run two_ranks(RankWork first, RankWork second) {
  std::array<StepRank, 2> ranks = {StepRank(0), StepRank(1)};
  std::array const works = {first, second};
  auto const arrival = [](RankWork work) { return work.prepare + 12 + work.kernel + 2; };
  int64_t const end = std::max(arrival(first), arrival(second)) + 20;

  for (int64_t step = 0; step < kMadeSteps; ++step)
    for (size_t r = 0; r < 2; ++r) {
      StepRank& rank = ranks[r];
      int64_t const prepared = works[r].prepare;
      rank.begin_step(step, end + 3);
      rank.range(0, prepared, "prepare");
      uint64_t const kernel = rank.launch(prepared, prepared + 10);
      uint64_t const reduce = rank.launch(prepared + 10, prepared + 20);

      rank.kernel(prepared + 12, prepared + 12 + works[r].kernel, "gemm", kernel);
      rank.stream_wait(prepared + 20, prepared + 12 + works[r].kernel);
      rank.all_reduce(arrival(works[r]), end, 100, static_cast<uint64_t>(step) + 1, reduce);
      rank.sync(prepared + 20, end + 3);
    }
  return testing_support::path_run(std::move(ranks[0]).finish(), std::move(ranks[1]).finish());
}

TEST(RankChanges, OfTwoRanksTheFasterOneIsTheUsualOne) {
  // Rank 1 arrives 40 µs later. Without that each step is 40 µs shorter.
  model::Run const run = two_ranks({10, 100}, {10, 140});
  EXPECT_NEAR(saved_us(run, "straggler=1"), 40, kOneNsInRanks);
  EXPECT_NEAR(saved_us(run, "straggler=median"), 40, kOneNsInRanks);
  EXPECT_EQ(answer_of(run, "straggler=1").changed, 4U);

  EXPECT_NEAR(saved_us(run, "straggler=0"), 0, kOneNsInRanks);
  EXPECT_THAT(answer_of(run, "straggler=0").cautions,
              ElementsAre(HasSubstr("nothing of it takes longer")));
  EXPECT_THAT(refusal_of(run, "straggler=7"), HasSubstr("there are 0, 1"));
}

TEST(RankChanges, ALateHostIsAStragglerToo) {
  // Rank 1 prepares for 50 µs in place of 10.
  model::Run const run = two_ranks({10, 100}, {50, 100});
  EXPECT_NEAR(saved_us(run, "straggler=1"), 40, kOneNsInRanks);
  EXPECT_NEAR(saved_us(run, "straggler=0"), 0, kOneNsInRanks);
}

TEST(RankChanges, BalancedRanksComputeForAsLong) {
  // Both for 120 µs: the later rank arrives 20 µs sooner.
  model::Run const run = two_ranks({10, 100}, {10, 140});
  EXPECT_NEAR(saved_us(run, "imbalance=mean"), 20, kOneNsInRanks);
  EXPECT_EQ(answer_of(run, "imbalance=mean").changed, 8U);
}

TEST(RankChanges, WithoutKernelsTheLaterLaunchDecides) {
  // Rank 1 has launched its all-reduce at 70 and arrives at 72, not at 164.
  model::Run const run = two_ranks({10, 100}, {50, 100});
  EXPECT_NEAR(saved_us(run, "kernel:gemm=0"), 164 - 72, kOneNsInRanks);
}

TEST(RankChanges, ALaterChangeSeesWhatAnEarlierOneHasLeft) {
  // Rank 1 prepares for 10 µs, then both for 5.
  model::Run const run = two_ranks({10, 100}, {50, 100});
  EXPECT_NEAR(saved_us_at_once(run, {"straggler=1", "host:prepare=/2"}), 40 + 5, kOneNsInRanks);
}

TEST(RankChanges, WithoutAFitAllOfATransferIsBandwidth) {
  model::Run const run = two_ranks({10, 100}, {10, 140});
  EXPECT_NEAR(saved_us(run, "comm:bandwidth=*2"), 10, kOneNsInRanks);
  EXPECT_THAT(answer_of(run, "comm:bandwidth=*2").cautions,
              Contains(HasSubstr("4 of 4 transfers have one size only")));
  EXPECT_THAT(refusal_of(run, "comm:latency=0"), HasSubstr("with several sizes"));
}

TEST(RankChanges, CollectivesAreChangedFromTheLastArrivalOn) {
  // Rank 0 waits for 40 µs in them, which no faster network changes.
  model::Run const run = two_ranks({10, 100}, {10, 140});
  EXPECT_NEAR(saved_us(run, "collective:all_reduce=/2"), 10, kOneNsInRanks);
  EXPECT_NEAR(saved_us(run, "collective:all_reduce=0"), 20, kOneNsInRanks);
  EXPECT_NEAR(saved_us(run, "class:communication=/4"), 15, kOneNsInRanks);
  EXPECT_EQ(answer_of(run, "collective:all_reduce=/2").changed, 4U);
  EXPECT_THAT(refusal_of(run, "collective:broadcast=/2"), HasSubstr("there are all_reduce"));
}

/// Two all-reduces a step, one behind the other. They take 10 µs and 1 ns a byte: 20 µs and 40 µs.
model::Run run_of_two_sizes() {
  std::array<StepRank, 2> ranks = {StepRank(0), StepRank(1)};
  for (uint64_t step = 0; step < kMadeSteps; ++step)
    for (StepRank& rank : ranks) {
      rank.begin_step(static_cast<int64_t>(step), 189);
      uint64_t const kernel = rank.launch(10, 20);
      uint64_t const small = rank.launch(20, 30), large = rank.launch(30, 40);

      rank.kernel(22, 122, "gemm", kernel);
      rank.stream_wait(40, 122);
      rank.all_reduce(124, 144, 10'000, 2 * step + 1, small);
      rank.all_reduce(146, 186, 30'000, 2 * step + 2, large);
      rank.sync(40, 189);
    }
  return testing_support::path_run(std::move(ranks[0]).finish(), std::move(ranks[1]).finish());
}

TEST(RankChanges, AFitTellsLatencyFromBandwidth) {
  model::Run const run = run_of_two_sizes();
  ASSERT_EQ(analyze(run).links.size(), 1U);

  // The size of a message makes 10 of 20 µs, and 30 of 40 µs.
  EXPECT_NEAR(saved_us(run, "comm:bandwidth=*2"), 5 + 15, 0.01);
  EXPECT_THAT(answer_of(run, "comm:bandwidth=*2").cautions, IsEmpty());
  EXPECT_NEAR(saved_us(run, "comm:latency=0"), 10 + 10, 0.01);
  EXPECT_NEAR(saved_us(run, "comm:latency=4us"), 6 + 6, 0.01);
  EXPECT_NEAR(saved_us(run, "comm:latency=*3"), -20 - 20, 0.01);
  EXPECT_EQ(answer_of(run, "comm:latency=0").changed, 8U);
}

TEST(RankChanges, MoreRanksTakeTheFasterOneOfRingAndTree) {
  // A message of two ranks takes a hop of 10 µs and its bytes once. On four, a ring has three hops
  // and 1.5 times the bytes, a tree two hops and twice the bytes: 40 µs (tree) and 75 µs (ring).
  model::Run const run = run_of_two_sizes();
  EXPECT_NEAR(saved_us(run, "ranks=4"), (20 - 40) + (40 - 75), 0.01);
  EXPECT_NEAR(saved_us(run, "ranks=1"), 20 + 40, 0.01);
  EXPECT_NEAR(saved_us(run, "ranks=2"), 0, 0.01);

  // If hops do not grow, it takes 25 and 55 µs; as a ring it takes 45 and 75 µs.
  WhatIfAnswer const answer = answer_of(run, "ranks=4");
  // Beside that steps vary by 2 µs.
  EXPECT_NEAR((answer.step_ns - answer.low_ns) / 1000, (40 + 75) - (25 + 55), 3);
  EXPECT_NEAR((answer.high_ns - answer.step_ns) / 1000, (45 + 75) - (40 + 75), 3);
}

/// The run's own measurements, as of `devices` devices whose kernels take `ratio` times as long.
ProbeRun probe_like(model::Run const& run, uint64_t devices, double ratio) {
  ProbeRun probe = probe_of(run, analyze(run));
  probe.measurements.devices = devices;
  for (RunMeasurements::Kernel& kernel : probe.measurements.kernels)
    for (double& ns : kernel.ns) ns *= ratio;
  return probe;
}

WhatIfAnswer ask_with_probe(model::Run const& run, std::string const& text, ProbeRun probe) {
  WhatIfQuestion question{{{*parse_change(text)}}, false, std::move(probe)};
  return what_if(run, analyze(run), question).answers.at(0);
}

TEST(RankChanges, ASharedBatchNeedsASecondRun) {
  model::Run const run = two_ranks({10, 100}, {10, 100});
  EXPECT_THAT(refusal_of(run, "ranks=4:same-batch"), HasSubstr("--probe RUN"));

  WhatIfAnswer const same = ask_with_probe(run, "ranks=4:same-batch", probe_like(run, 2, 1));
  EXPECT_TRUE(same.is_refused);
  EXPECT_THAT(same.reason, HasSubstr("2 devices, as the run"));
}

TEST(RankChanges, KernelsOfASharedBatchTakeAPartThatStays) {
  // Half of the batch takes 60 of 100 µs: 20 µs stay, and 80 µs go with the batch.
  model::Run const run = two_ranks({10, 100}, {10, 100});
  double const now = ask_with_probe(run, "ranks=2:same-batch", probe_like(run, 4, 0.6)).step_ns;
  for (auto const& [change, kernel_us] : std::initializer_list<std::pair<char const*, double>>{
           {"ranks=4:same-batch", 60}, {"ranks=8:same-batch", 40}}) {
    WhatIfAnswer const answer = ask_with_probe(run, change, probe_like(run, 4, 0.6));
    ASSERT_FALSE(answer.is_refused) << answer.reason;

    // The only all-reduce has one size, so that all of its 20 µs go with the bytes.
    double const ranks = change[6] - '0';
    double const reduced_us = 20 * 2 * (ranks - 1) / ranks;
    EXPECT_NEAR((now - answer.step_ns) / 1000, (100 - kernel_us) - (reduced_us - 20), 0.01)
        << change;
  }
}

}  // namespace
}  // namespace stepscope::analyzer
