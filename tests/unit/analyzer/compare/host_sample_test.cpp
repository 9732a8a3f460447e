// Programs without a device are compared and checked against budgets by the steps of their host
// threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/compare/comparison.h"
#include "analyzer/gate/gate.h"
#include "reports/text/comparison.h"
#include "reports/words/runs/comparison_words.h"
#include "tests/support/host_program.h"
#include "tests/support/synthetic_run.h"

namespace stepscope::analyzer {
namespace {

using support::HostProgram;
using support::kMicrosecond;
using testing::HasSubstr;
using testing::Not;

/// 20 steps of about 100 µs, 10 µs apart: 30 µs of waiting, then `work` µs in the range "augment".
model::Run host_loop(int64_t work, int64_t wait = 30, int64_t slow_step = -1) {
  HostProgram program;
  int64_t now = 0;

  for (int64_t number = 0; number < 20; ++number) {
    int64_t const jitter = number * 7 % 5 * 100 + (number == slow_step ? 2000 * kMicrosecond : 0);
    int64_t const length = (wait + work + 20) * kMicrosecond + jitter;
    program.step(number, now, now + length);
    program.range(now, now + wait * kMicrosecond, "wait for batch", model::EventKind::kInputWait);
    program.range(now + wait * kMicrosecond, now + (wait + work) * kMicrosecond, "augment");
    now += length + 10 * kMicrosecond;
  }

  return std::move(program).run();
}

RunMeasurements sample_of_host(model::Run const& run) { return sample_run(run, analyze(run)); }

double part_of_sample(RunMeasurements const& sample, StepPart part) {
  double sum = 0;
  for (double const ns : sample.parts_ns[static_cast<size_t>(part)]) sum += ns;
  return sum / static_cast<double>(sample.steps.size());
}

BudgetCheck check_host(model::Run const& run, std::string const& fact, double limit) {
  GateResult const result =
      check_runs({}, {sample_of_host(run)}, {{fact, Bound::kAtMost, limit, {}, 0, 0}});
  return result.budgets.at(0);
}

TEST(HostSample, StepsAreThoseOfTheAnalysis) {
  model::Run const run = host_loop(50);
  Analysis const analysis = analyze(run);
  RunMeasurements const sample = sample_run(run, analysis);

  ASSERT_TRUE(sample.of_hosts);
  EXPECT_EQ(sample.steps.size(), 19U);
  EXPECT_EQ(sample.warmup_steps, 1U);
  EXPECT_EQ(sample.outlier_steps, 0U);

  EXPECT_NEAR(sample.all_steps_ns, static_cast<double>(*analysis.hosts[0].mean_ns), 1);
  EXPECT_EQ(sample.p95_ns, static_cast<double>(*analysis.hosts[0].p95_ns));
  EXPECT_EQ(part_of_sample(sample, idle_part(IdleCause::kInput)), 30.0 * kMicrosecond);
  EXPECT_NEAR(part_of_sample(sample, StepPart::kCompute), sample.all_steps_ns - 30.0 * kMicrosecond,
              1);
}

TEST(HostSample, OutliersAreLeftOutAndCounted) {
  RunMeasurements const sample = sample_of_host(host_loop(50, 30, 9));
  EXPECT_EQ(sample.outlier_steps, 1U);
  EXPECT_EQ(sample.steps.size(), 18U);
  EXPECT_GT(sample.all_steps_ns, sample.steady_steps_ns + 100.0 * kMicrosecond);
  EXPECT_NEAR(sample.steady_steps_ns, 110.2 * kMicrosecond, kMicrosecond);
}

TEST(HostSample, StepsOfADeviceComeFirst) {
  EXPECT_FALSE(sample_of_host(support::make_synthetic_run({})).of_hosts);
}

TEST(HostSample, ThreadsThatShareTheStepsHaveThemAll) {
  HostProgram program;
  program.step(0, 0, 100);
  program.step(1, 100, 200);
  model::TrackId const second = program.thread("second");
  program.step_on(second, 2, 200, 400);
  program.step_on(second, 3, 400, 600);
  RunMeasurements const sample = sample_of_host(std::move(program).run());
  EXPECT_EQ(sample.steps, (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(sample.step_ns, (std::vector<double>{100, 100, 200, 200}));
}

TEST(HostSample, ThreadsWithTheSameStepsAreOneStepOfTheJob) {
  HostProgram program;
  model::TrackId const second = program.thread("second");
  for (int64_t number = 0; number < 4; ++number) {
    program.step(number, 400 * number, 400 * number + 100);
    if (number > 0) program.step_on(second, number, 400 * number, 400 * number + 300);
  }

  RunMeasurements const sample = sample_of_host(std::move(program).run());
  EXPECT_EQ(sample.steps, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(sample.incomplete_steps, 1U);
  EXPECT_EQ(sample.step_ns[0], (400 + 300) / 2.0);
}

TEST(HostSample, ASlowerRangeIsReportedWithItsCause) {
  RunMeasurements const base = sample_of_host(host_loop(50)),
                        candidate = sample_of_host(host_loop(80));
  Comparison const comparison = compare_runs({base}, {candidate});
  ASSERT_FALSE(comparison.refusal);
  EXPECT_EQ(comparison.verdict, Verdict::kMore);
  EXPECT_NEAR(static_cast<double>(comparison.parts_ns[static_cast<size_t>(ChangePart::kHostWork)]),
              30.0 * kMicrosecond, 2);
  int64_t sum = 0;
  for (int64_t const part : comparison.parts_ns) sum += part;
  EXPECT_EQ(sum, comparison.candidate.mean_ns - comparison.base.mean_ns);
  ASSERT_FALSE(comparison.ranges.empty());
  EXPECT_EQ(comparison.ranges[0].name, "augment");
  EXPECT_NEAR(comparison.ranges[0].candidate_ns - comparison.ranges[0].base_ns, 30.0 * kMicrosecond,
              1);

  std::string const text = reports::comparison_text(comparison, {});
  EXPECT_THAT(text, HasSubstr("SLOWER"));
  EXPECT_THAT(text, HasSubstr("more host work: +30.0 µs in “augment”"));
  EXPECT_THAT(text, Not(HasSubstr("kernel")));
  EXPECT_THAT(text, Not(HasSubstr("memory")));
  EXPECT_THAT(text, Not(HasSubstr("idle")));
}

TEST(HostSample, MoreWaitingForDataIsNoWork) {
  Comparison const comparison =
      compare_runs({sample_of_host(host_loop(50))}, {sample_of_host(host_loop(50, 60))});
  EXPECT_EQ(comparison.parts_ns[static_cast<size_t>(ChangePart::kHostInput)], 30 * kMicrosecond);
  EXPECT_THAT(reports::headline(comparison), HasSubstr("more waiting for data"));
  EXPECT_EQ(compare_runs({sample_of_host(host_loop(50))}, {sample_of_host(host_loop(50))}).verdict,
            Verdict::kSame);
}

TEST(HostSample, StepsAfterAPauseCountNowhereAndTheFastestQuarterIsCompared) {
  model::TraceBuilder builder;
  builder.info().facts.emplace_back("turns", "4 of 5 steps");
  model::TrackId const thread =
      builder.add_track({model::TrackKind::kThread, "main", 1, -1, model::StreamKind::kCompute, 0});

  int64_t now = 0;
  for (int64_t number = 0; number < 20; ++number) {
    now += number % 5 == 0 ? 130 : 0;  // the other program's turn
    builder.events(thread).add(model::EventKind::kStep, now, 100 + number, builder.intern("step"),
                               0, model::StepDetail{number});
    now += 100 + number;
  }

  model::Run run;
  run.ranks.push_back({std::move(builder).finish(), 0, ""});
  RunMeasurements const sample = sample_of_host(run);

  EXPECT_EQ(sample.steps_in_turn, 16U);
  EXPECT_EQ(sample.steps, (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(sample.all_steps_ns, 110)
      << "mean of the steps that follow no pause: 1 to 4, 6 to 9, 11 to 14, 16 to 19";
  EXPECT_TRUE(sample.ranges.empty()) << "they are of the whole recording";
}

TEST(HostSample, AProgramWithADeviceIsAnotherOne) {
  RunMeasurements const host = sample_of_host(host_loop(50)),
                        device = sample_of_host(support::make_synthetic_run({}));
  EXPECT_EQ(compare_runs({host}, {device}).refusal, Refusal::kNoCommonKernel);
}

TEST(HostSample, BudgetsOfItsStepAreCheckedOthersAreUnclear) {
  model::Run const run = host_loop(50);
  EXPECT_EQ(check_host(run, "step_time_ms", 0.12).verdict, GateVerdict::kPassed);
  EXPECT_EQ(check_host(run, "step_time_ms", 0.1).verdict, GateVerdict::kFailed);
  EXPECT_EQ(check_host(run, "step_p95_ms", 0.12).verdict, GateVerdict::kPassed);
  EXPECT_EQ(check_host(run, "step_p95_ms", 0.1).verdict, GateVerdict::kFailed);
  EXPECT_EQ(check_host(run, "idle_input_share", 0.2).verdict, GateVerdict::kFailed);
  EXPECT_EQ(check_host(run, "compute_ms", 0.1).verdict, GateVerdict::kPassed);

  for (char const* const fact :
       {"exposed_comm_share", "idle_sync_ms", "peak_memory_gb", "kernel_calls"}) {
    EXPECT_EQ(check_host(run, fact, 1000).verdict, GateVerdict::kUnclear) << fact;
    EXPECT_FALSE(check_host(run, fact, 1000).value) << fact;
  }
}

}  // namespace
}  // namespace stepscope::analyzer
