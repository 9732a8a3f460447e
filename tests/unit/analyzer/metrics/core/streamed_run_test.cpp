// A run that is read process by process has the results and findings of the run in memory.
#include "analyzer/metrics/core/streamed_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "analyzer/analyze.h"
#include "analyzer/metrics/steps/skeleton_rows.h"
#include "reports/json/json.h"
#include "tests/support/synthetic_run.h"
#include "trace/model/derive/run_skeleton.h"

namespace stepscope::analyzer {
namespace {

using support::StepMarks;
using support::SyntheticOptions;

SyntheticOptions job_of_three() {
  SyntheticOptions job;
  job.devices = 3;
  job.process_per_device = true;
  return job;
}

model::Run skeletons_of(SyntheticOptions const& job) {
  model::Run run = support::make_synthetic_run(job);
  for (model::RankTrace& rank : run.ranks) {
    std::vector<uint32_t> const rows = skeleton_rows(rank.trace);
    rank.trace = model::skeleton_of(std::move(rank.trace), rows);
  }
  return run;
}

/// Generates the process again for each read.
base::Expected<model::RankTrace> read_process(SyntheticOptions const& job, size_t process) {
  return std::move(support::make_synthetic_run(job).ranks[process]);
}

void expect_same(SyntheticOptions const& job, AnalyzeOptions const& options = {}) {
  model::Run const run = support::make_synthetic_run(job), skeleton = skeletons_of(job);
  auto const read = [&](size_t process) { return read_process(job, process); };
  auto const streamed =
      analyze({skeleton, read, [&](size_t process, Interval) { return read(process); }}, options);
  ASSERT_TRUE(streamed);
  EXPECT_EQ(reports::analysis_json(skeleton, *streamed),
            reports::analysis_json(run, analyze(run, options)));
}

TEST(StreamedRun, HasTheFactsAndFindingsOfTheRunInMemory) {
  SyntheticOptions const healthy = job_of_three();
  expect_same(healthy);

  SyntheticOptions job = healthy;
  job.straggler_device = 1;
  job.copy_ns = 9'000'000;  // serialized-copies
  expect_same(job);

  job = healthy;
  job.input_delay_ns = 12'000'000;
  job.overlap = false;
  job.rank_clock_offset_ns = 3'000'000;
  expect_same(job);

  job = healthy;
  job.sync_every_op = job.allocate_in_step = true;
  job.leak_bytes_per_step = 1U << 24;
  expect_same(job);

  job = healthy;
  job.host_delay_ns = 800'000;
  job.slow_step = 4;
  job.marks = StepMarks::kRangeName;
  expect_same(job);

  job = healthy;
  job.devices = 2;
  job.messages = true;
  job.marks = StepMarks::kProfilerStep;
  job.origin_ns = -5'000'000'000;
  expect_same(job);
}

TEST(StreamedRun, OfSomeStepsOrOfOneRankToo) {
  AnalyzeOptions options;
  options.steps = {2, 4};
  expect_same(job_of_three(), options);
  options.steps.reset();
  options.rank = 1;
  expect_same(job_of_three(), options);
}

TEST(StreamedRun, ReadsNoProcessThatWasNotAskedFor) {
  SyntheticOptions const job = job_of_three();
  model::Run const skeleton = skeletons_of(job);

  AnalyzeOptions options;
  options.rank = 1;
  std::atomic<int> others = 0;

  auto const read = [&](size_t process) {
    if (process != 1) ++others;
    return read_process(job, process);
  };

  ASSERT_TRUE(analyze(
      {skeleton, read, [&](size_t process, Interval) { return read_process(job, process); }},
      options));
  EXPECT_EQ(others, 0);
}

TEST(StreamedRun, AProcessThatCannotBeReadIsAnError) {
  SyntheticOptions const job = job_of_three();
  model::Run const skeleton = skeletons_of(job);
  auto const read = [&](size_t process) -> base::Expected<model::RankTrace> {
    if (process == 2) return base::fail("rank-2.stepscope: has been cut, record it again");
    return read_process(job, process);
  };

  auto const whole = [&](size_t process, Interval) { return read_process(job, process); };
  auto const failed = analyze({skeleton, read, whole});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "rank-2.stepscope: has been cut, record it again");

  auto const window_failed =
      analyze({skeleton, [&](size_t process) { return read_process(job, process); },
               [&](size_t process, Interval) { return read(process); }});
  ASSERT_FALSE(window_failed);
}

TEST(RunSkeleton, HoldsCollectivesWithTheirLaunchesAndStepsAndWhatItWasMadeOf) {
  SyntheticOptions const job = job_of_three();
  model::Run const run = support::make_synthetic_run(job), skeleton = skeletons_of(job);
  for (size_t r = 0; r < run.ranks.size(); ++r) {
    model::Trace const &whole = run.ranks[r].trace, &part = skeleton.ranks[r].trace;
    EXPECT_LT(part.event_count(), whole.event_count() / 3);
    EXPECT_EQ(part.whole_event_count(), whole.event_count());
    EXPECT_EQ(part.time_range(), whole.time_range());
    EXPECT_EQ(part.tracks().size(), whole.tracks().size());

    auto const count = [](model::Trace const& trace, model::EventKind kind) {
      return std::count(trace.columns().kind.begin(), trace.columns().kind.end(), kind);
    };
    EXPECT_EQ(count(part, model::EventKind::kCollective),
              count(whole, model::EventKind::kCollective));
    EXPECT_EQ(count(part, model::EventKind::kStep), count(whole, model::EventKind::kStep));

    for (uint32_t row = 0; row < part.event_count(); ++row) {
      if (part.kind(row) != model::EventKind::kCollective) continue;
      model::EventId const launch = part.columns().link[row];
      ASSERT_TRUE(launch.valid());
      EXPECT_EQ(part.kind(launch.value), model::EventKind::kLaunch);
      EXPECT_EQ(part.columns().correlation[launch.value], part.columns().correlation[row]);
    }
  }
}

}  // namespace
}  // namespace stepscope::analyzer
