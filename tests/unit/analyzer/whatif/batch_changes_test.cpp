// What a step takes with another batch, on runs of two batches whose answer one can compute by
// hand.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "tests/unit/analyzer/whatif/changed_run.h"

namespace stepscope::analyzer {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::run_of_steps;
using testing_support::StepRank;

/// A step of so many samples: gemm takes 20 µs and 2 µs a sample, norm 30 µs in each call.
struct BatchStep {
  int64_t samples = 10;
  int64_t norm_calls = 1;
  int64_t prepare_us = 10;  ///< the host's time before the first launch
};

model::Run batch_run(BatchStep const& step) {
  int64_t const gemm = step.prepare_us + 12, norm = gemm + 20 + 2 * step.samples + 2;
  int64_t const end = norm + 32 * step.norm_calls;
  return run_of_steps(end + 3, [&](StepRank& rank) {
    rank.range(0, step.prepare_us, "prepare");
    int64_t at = step.prepare_us;
    uint64_t const first = rank.launch(at, at + 10);
    rank.kernel(gemm, gemm + 20 + 2 * step.samples, "gemm", first);

    for (int64_t call = 0; call < step.norm_calls; ++call) {
      at += 10;
      uint64_t const launch = rank.launch(at, at + 10);
      rank.kernel(norm + 32 * call, norm + 32 * call + 30, "norm", launch);
    }
    rank.sync(at + 10, end + 3);
  });
}

WhatIfAnswer ask_batch(model::Run const& run, std::string const& change,
                       model::Run const* probe = nullptr) {
  auto const parsed = parse_change(change);
  EXPECT_TRUE(parsed) << change;
  WhatIfQuestion question{{{*parsed}}, false, {}};
  if (probe != nullptr) question.probe = probe_of(*probe, analyze(*probe));
  return what_if(run, analyze(run), question).answers.at(0);
}

double step_us(BatchStep const& step) {
  return ask_batch(batch_run(step), "class:compute=*1").step_ns / 1000;
}

TEST(BatchChanges, FollowFromTwoRuns) {
  model::Run const run = batch_run({10}), probe = batch_run({40});
  for (int64_t const samples : {5, 20, 40, 80}) {
    WhatIfAnswer const answer = ask_batch(run, "batch:10,40=" + std::to_string(samples), &probe);
    ASSERT_FALSE(answer.is_refused) << answer.reason;
    EXPECT_NEAR(answer.step_ns / 1000, step_us({samples}), 0.01) << samples;
    EXPECT_THAT(answer.cautions, IsEmpty());
  }
}

TEST(BatchChanges, WhatTheReplayMissesOfTheProbeIsInTheIntervalAndGrows) {
  // The host of the probe prepares for 5 µs more, which no kernel tells: its step is 3 % longer.
  model::Run const run = batch_run({10}), probe = batch_run({40, 1, 15});
  auto const half_interval = [&](std::string const& samples) {
    WhatIfAnswer const answer = ask_batch(run, "batch:10,40=" + samples, &probe);
    EXPECT_FALSE(answer.is_refused) << answer.reason;
    EXPECT_THAT(answer.cautions, Contains(HasSubstr("the replay misses the probe's step by -3")));
    return (answer.high_ns - answer.low_ns) / 2 / answer.step_ns;
  };

  // With the run's own batch only what steps vary by is left.
  double const of_steps = half_interval("10");
  auto const missed = [&](std::string const& samples) {
    double const half = half_interval(samples);
    return std::sqrt(half * half - of_steps * of_steps);
  };
  double const at_probe = 5 / step_us({40, 1, 15});
  EXPECT_NEAR(missed("40"), at_probe, 0.0001);
  EXPECT_NEAR(missed("70"), 2 * at_probe, 0.0001);
  EXPECT_NEAR(missed("25"), at_probe / 2, 0.0001);
}

TEST(BatchChanges, AreRefusedWhereTheRunsDoNotTell) {
  model::Run const run = batch_run({10});
  auto const refusal = [&](model::Run const* probe) {
    WhatIfAnswer const answer = ask_batch(run, "batch:10,40=20", probe);
    EXPECT_TRUE(answer.is_refused);
    return answer.reason;
  };

  model::Run const more_calls = batch_run({40, 2}), more_host = batch_run({40, 1, 60});
  EXPECT_THAT(refusal(nullptr), HasSubstr("--probe RUN"));
  EXPECT_THAT(refusal(&more_calls), HasSubstr("1.50 times as often"));
  EXPECT_THAT(refusal(&more_host), HasSubstr("misses the probe's step by"));
}

}  // namespace
}  // namespace stepscope::analyzer
