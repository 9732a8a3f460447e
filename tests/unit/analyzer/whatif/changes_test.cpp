// Changes of one rank's kernels, copies and host, each on a run whose answer one can compute by
// hand.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analyzer/whatif/changed_run.h"
#include "trace/base/format.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing_support::answer_of;
using testing_support::ask;
using testing_support::refusal_of;
using testing_support::run_of_steps;
using testing_support::saved_us;
using testing_support::saved_us_at_once;
using testing_support::StepRank;

constexpr double kOneNs = 0.0011;  // in µs

/// A step takes 165 µs: 20 input, 30 optimizer, 10 launch, 2 to the kernel's begin, 100 kernel, 3
/// until the host goes on.
void add_plain_step(StepRank& rank) {
  rank.host(EventKind::kInputWait, 0, 20, "batch");
  rank.range(20, 50, "optimizer");
  uint64_t const gemm = rank.launch(50, 60);
  rank.kernel(62, 162, "gemm_kernel", gemm);
  rank.sync(60, 165);
}
model::Run run_of_plain_steps() { return run_of_steps(165, add_plain_step); }

TEST(Changes, ShortenKernelsWhoseNameHasAMatch) {
  model::Run const run = run_of_plain_steps();
  EXPECT_NEAR(saved_us(run, "kernel:gemm=/2"), 50, kOneNs);
  EXPECT_NEAR(saved_us(run, "kernel:^gemm_.*el$=0"), 100, kOneNs);
  EXPECT_NEAR(saved_us(run, "kernel:gemm=40us"), 60, kOneNs);
  EXPECT_NEAR(saved_us(run, "kernel:.=*2"), -100, kOneNs);
  EXPECT_NEAR(saved_us(run, "class:compute=/4"), 75, kOneNs);
  EXPECT_EQ(answer_of(run, "kernel:gemm=/2").changed, 4U);
}

TEST(Changes, AGainIsWhatTheRecordedStepTakesMore) {
  WhatIfStats const stats = ask(run_of_plain_steps(), {"kernel:gemm=/2"});
  WhatIfAnswer const& answer = stats.answers[0];

  // The first step has no step before it, so that it begins with itself: 162, 165, 165, 165 µs.
  EXPECT_EQ(stats.baseline.steps, 4U);
  EXPECT_NEAR(stats.baseline.step_ns, 164'250, 1);
  EXPECT_NEAR(answer.step_ns, 114'250, 1);
  EXPECT_NEAR(answer.gain, 164.25 / 114.25 - 1, 1e-6);
  EXPECT_LE(answer.low_ns, answer.step_ns);
  EXPECT_GE(answer.high_ns, answer.step_ns);
}

TEST(Changes, OfOneAnswerAreMadeAtOnce) {
  model::Run const run = run_of_plain_steps();
  EXPECT_NEAR(saved_us_at_once(run, {"input=0", "kernel:gemm=/2", "host:optimizer=/3"}),
              20 + 50 + 20, kOneNs);
  EXPECT_EQ(ask(run, {"input=0", "kernel:gemm=/2"}).answers[0].change, "input=0 + kernel:gemm=/2");

  WhatIfAnswer const refused = ask(run, {"input=0", "copies=0"}).answers[0];
  EXPECT_TRUE(refused.is_refused);
  EXPECT_THAT(refused.reason, HasSubstr("copies=0: "));
}

TEST(Changes, ShortenTheHostsOwnTimeInRanges) {
  model::Run const run = run_of_plain_steps();
  EXPECT_NEAR(saved_us(run, "host:optimizer=0"), 30, kOneNs);
  EXPECT_NEAR(saved_us(run, "host:optimizer=/2"), 15, kOneNs);
  EXPECT_NEAR(saved_us(run, "host:optimizer=*2"), -30, kOneNs);
}

TEST(Changes, ARangesCallsStayAsTheyAre) {
  model::Run const run = run_of_steps(140, [](StepRank& rank) {
    rank.range(5, 30, "forward");
    uint64_t const gemm = rank.launch(10, 20);
    rank.kernel(32, 132, "gemm", rank.launch(20, 30));
    rank.kernel(22, 24, "norm", gemm);
    rank.sync(40, 135);
  });

  // The range is open from 5 to 30. The host works for itself from 5 to 10, and launches from then
  // on.
  EXPECT_NEAR(saved_us(run, "host:forward=0"), 5, kOneNs);
}

TEST(Changes, WithoutInputTheHostGoesOnAtOnce) {
  model::Run const run = run_of_plain_steps();
  EXPECT_NEAR(saved_us(run, "input=0"), 20, kOneNs);
  EXPECT_NEAR(saved_us(run, "input=5us"), 15, kOneNs);
  EXPECT_EQ(answer_of(run, "input=0").changed, 4U);
}

TEST(Changes, WithoutSyncsEachStepKeepsItsLast) {
  // Without the first sync the second launch is over at 20, and b begins as a ends, at 42.
  model::Run const run = run_of_steps(90, [](StepRank& rank) {
    rank.kernel(12, 42, "a", rank.launch(0, 10));
    rank.sync(10, 45);
    rank.kernel(57, 87, "b", rank.launch(45, 55));
    rank.sync(55, 90);
  });

  EXPECT_NEAR(saved_us(run, "sync=off"), 15, kOneNs);
  EXPECT_EQ(answer_of(run, "sync=off").changed, 4U);
}

TEST(Changes, ASyncInPiecesIsOneCall) {
  model::Run const run = run_of_steps(165, [](StepRank& rank) {
    add_plain_step(rank);
    rank.host(EventKind::kOverhead, 70, 75, "buffer");
  });

  EXPECT_THAT(refusal_of(run, "sync=off"), HasSubstr("but for the last one of it"));
}

TEST(Changes, WithoutAllocationsTheHostGoesOnAtOnce) {
  model::Run const run = run_of_steps(75, [](StepRank& rank) {
    rank.allocate(0, 40);
    rank.kernel(52, 72, "gemm", rank.launch(40, 50));
    rank.sync(50, 75);
  });

  EXPECT_NEAR(saved_us(run, "alloc=0"), 40, kOneNs);
  EXPECT_NEAR(saved_us(run, "alloc=/4"), 30, kOneNs);
  EXPECT_EQ(answer_of(run, "alloc=0").changed, 4U);
}

/// A step takes 85 µs. The copy's call has 2 to the copy's begin, 43 copy, 5 until it returns.
/// Then come 10 launch, 2 to the kernel's begin, 20 kernel, 3 until the host goes on.
model::Run run_with_copies() {
  return run_of_steps(85, [](StepRank& rank) {
    rank.copy(2, 45, rank.launch(0, 50, "cudaMemcpy"));
    rank.kernel(62, 82, "gemm", rank.launch(50, 60));
    rank.sync(60, 85);
  });
}

TEST(Changes, WithoutCopiesTheirCallsNoLongerWait) {
  EXPECT_NEAR(saved_us(run_with_copies(), "copies=0"), 2 + 43 + 5, kOneNs);
}

TEST(Changes, FasterCopiesStillHoldTheirCalls) {
  EXPECT_NEAR(saved_us(run_with_copies(), "copies=/2"), 21.5, kOneNs);
  EXPECT_NEAR(saved_us(run_with_copies(), "class:copy=/2"), 21.5, kOneNs);
  EXPECT_EQ(answer_of(run_with_copies(), "copies=/2").changed, 4U);
}

TEST(Changes, ACallThatWaitsForItsCopyIsNoLaunch) {
  EXPECT_NEAR(saved_us(run_with_copies(), "launch=0"), 10, kOneNs);
}

/// A step takes 115 µs: launches 0..10 and 60..70, then a sync until the second kernel is over, and
/// 20 µs of Python.
model::Run run_with_two_launches() {
  return run_of_steps(115, [](StepRank& rank) {
    rank.kernel(12, 22, "a", rank.launch(0, 10));
    rank.kernel(72, 92, "b", rank.launch(60, 70));
    rank.sync(70, 95);
    rank.range(95, 115, "log");
  });
}

TEST(Changes, WithoutLaunchesTheHostsWorkBetweenThemIsGone) {
  // a takes 2..12 then, b 12..32, the host goes on at 35 and is at 55 after its Python: 60 less.
  EXPECT_NEAR(saved_us(run_with_two_launches(), "launch=0"), 60, kOneNs);
  // Launches are over at 5 and 35 then, b takes 37..57.
  EXPECT_NEAR(saved_us(run_with_two_launches(), "launch=/2"), 35, kOneNs);
  EXPECT_EQ(answer_of(run_with_two_launches(), "launch=0").changed, 12U);
}

TEST(Changes, WorkBetweenTheLaunchesOfTwoStepsStays) {
  // The host waits for nothing: 0..10 and 60..70 it launches, then it does 45 µs of its own.
  model::Run const run = run_of_steps(115, [](StepRank& rank) {
    rank.kernel(12, 22, "a", rank.launch(0, 10));
    rank.kernel(72, 92, "b", rank.launch(60, 70));
  });

  // These 45 µs are the step then. In the first one b ends at 32 in place of 92, in each later one
  // 45 behind the last in place of 115.
  EXPECT_NEAR(saved_us(run, "launch=0"), (60 + 3 * 70) / 4.0, kOneNs);
}

TEST(Changes, AKernelNeverBeginsBeforeItsLaunch) {
  // The call returns 30 µs behind the kernel's begin. The kernel begins at 10: that much and no
  // more it can begin sooner.
  model::Run const run = run_of_steps(63, [](StepRank& rank) {
    rank.kernel(10, 60, "gemm", rank.launch(0, 40));
    rank.sync(40, 63);
  });

  double const saved = saved_us(run, "launch=0");
  EXPECT_GE(saved, 0);
  EXPECT_LE(saved, 10 + kOneNs);
}

TEST(Changes, ThatSelectNothingSayWhatThereIs) {
  model::Run const run = run_of_plain_steps();
  EXPECT_THAT(refusal_of(run, "kernel:attention=/2"),
              AllOf(HasSubstr("no kernel's name has a match"), HasSubstr("gemm_kernel")));
  EXPECT_THAT(refusal_of(run, "host:forward=0"),
              AllOf(HasSubstr("no range has this name"), HasSubstr("optimizer")));
  EXPECT_THAT(refusal_of(run, "class:copy=/2"), HasSubstr("no device op of the class copy"));
  EXPECT_THAT(refusal_of(run, "class:comm=/2"), HasSubstr("of the class communication"));
  EXPECT_THAT(refusal_of(run, "copies=0"), HasSubstr("no copies"));
  EXPECT_THAT(refusal_of(run, "alloc=0"), HasSubstr("neither allocates nor frees"));
  EXPECT_THAT(refusal_of(run, "sync=off"), HasSubstr("but for the last one of it"));

  EXPECT_THAT(refusal_of(run, "comm:bandwidth=*2"), HasSubstr("no communication"));
  EXPECT_THAT(refusal_of(run, "comm:latency=0"), HasSubstr("no communication"));
  EXPECT_THAT(refusal_of(run, "collective:all_reduce=0"), HasSubstr("no communication"));
  EXPECT_THAT(refusal_of(run, "straggler=median"), HasSubstr("one device"));
  EXPECT_THAT(refusal_of(run, "imbalance=mean"), HasSubstr("on two devices"));
  EXPECT_THAT(refusal_of(run_with_copies(), "input=0"), HasSubstr("never waits for input"));
  EXPECT_THAT(refusal_of(run_with_copies(), "host:x=0"), HasSubstr("the run has no ranges"));
}

TEST(Changes, ARangeThatHoldsUpNoDeviceIsNotMissing) {
  model::Run const run = run_of_steps(165, [track = model::TrackId{}](StepRank& rank) mutable {
    add_plain_step(rank);
    if (!track.valid()) track = rank.rank().thread(2);
    rank.rank().range(track, 0, 20'000, "loader");
  });

  EXPECT_THAT(refusal_of(run, "host:loader=0"), Not(HasSubstr("no range has this name")));
}

TEST(Changes, ARefusalIsValidTextWhateverTheNames) {
  std::string const long_name = std::string(59, 'x') + "\u00E9\u00E9";
  model::Run const run = run_of_steps(115, [&](StepRank& rank) {
    rank.range(5, 10, long_name + "\033[31m");
    rank.kernel(22, 112, long_name + "\033[31m", rank.launch(10, 20));
    rank.sync(20, 115);
  });

  for (std::string const text : {"kernel:gemm=/2", "host:forward=0"}) {
    std::string const reason = refusal_of(run, text);
    EXPECT_EQ(base::valid_utf8(reason, reason.size()), reason);
    EXPECT_THAT(reason, Not(HasSubstr("\033")));
  }
}

TEST(Changes, EnormousDurationsDoNotOverflow) {
  model::Run const run = run_of_steps(90, [](StepRank& rank) {
    for (int64_t at = 0; at < 80; at += 20)
      rank.kernel(at + 12, at + 17, "gemm", rank.launch(at, at + 10));
    rank.sync(80, 90);
  });

  WhatIfAnswer const answer = answer_of(run, "kernel:gemm=2305843009213693952ns");
  EXPECT_GT(answer.step_ns, 0);
  EXPECT_LT(answer.gain, 0);
}

TEST(Changes, ARunWithoutKernelsHasNoNamesToList) {
  model::Run const run = run_of_steps(85, [](StepRank& rank) {
    rank.copy(2, 45, rank.launch(0, 50, "cudaMemcpy"));
    rank.range(60, 70, "log");
  });

  EXPECT_THAT(refusal_of(run, "kernel:gemm=/2"), Not(HasSubstr("there are ,")));
}

TEST(Changes, DevicesThatAreThreadsOfTheHostKeepWhatFreesThreads) {
  StepRank rank;
  rank.rank().builder().add_device({0, "host:0", 0, 1, 0});
  for (int64_t step = 0; step < testing_support::kMadeSteps; ++step) {
    rank.begin_step(step, 165);
    add_plain_step(rank);
  }
  model::Run const run = testing_support::path_run(std::move(rank).finish());

  EXPECT_THAT(refusal_of(run, "sync=off"), HasSubstr("threads of the host"));
  EXPECT_THAT(refusal_of(run, "launch=0"), HasSubstr("threads of the host"));
  EXPECT_NEAR(saved_us(run, "kernel:gemm=/2"), 50, kOneNs);
}

}  // namespace
}  // namespace stepscope::analyzer
