// Processes without a device: steps, waits for data, time by range, causes of slow steps, and the
// rank that is ready last for collectives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/metrics/host/main_range.h"
#include "analyzer/results/analysis.h"
#include "reports/text/text.h"
#include "reports/words/summary.h"
#include "reports/words/wording.h"
#include "tests/support/host_program.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::analyzer {
namespace {

using namespace model;
using support::HostProgram;
using support::kMicrosecond;
using support::loop_with_waits;
using testing::HasSubstr;
using testing::Not;

HostRangeStats const& host_range(HostStats const& host, std::string_view name) {
  for (HostRangeStats const& range : host.ranges)
    if (range.name == name) return range;
  ADD_FAILURE() << name << " is not there";
  static HostRangeStats const kNone;
  return kNone;
}

Finding const* host_finding(Analysis const& analysis, std::string_view rule) {
  for (Finding const& finding : analysis.findings)
    if (finding.rule == rule) return &finding;
  return nullptr;
}

/// `ranks` computing threads of a pipeline with 20 ranges of 10 ms each, one every 25 ms. Ranges of
/// the last rank take `last_ms`.
Run pipeline_timeline(int ranks, int64_t last_ms, std::string const& what = "compute",
                      bool with_more_events = false) {
  HostProgram program;
  for (int rank = 0; rank < ranks; ++rank) {
    TrackId const thread =
        program.thread("PP rank " + std::to_string(rank) + ", TP rank 0, " + what);
    int64_t const length = (rank + 1 == ranks ? last_ms : 10) * 1000 * kMicrosecond;
    int const count = with_more_events && rank + 1 == ranks ? 21 : 20;

    for (int i = 0; i < count; ++i)
      program.range_on(thread, i * 25'000 * kMicrosecond, i * 25'000 * kMicrosecond + length,
                       "forward-compute");
  }
  return std::move(program).run();
}

TEST(HostImbalance, ARankThatComputesMuchLongerIsNamed) {
  model::Run const run = pipeline_timeline(4, 16);
  Analysis const analysis = analyze(run);

  Finding const* const finding = host_finding(analysis, "load-imbalance");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kCritical);
  EXPECT_EQ(finding->subjects.at(0).second, "PP rank 3, TP rank 0, compute");
  EXPECT_EQ(finding->evidence.size(), 1U);

  reports::FindingWords const words = reports::words_of(run, analysis, *finding);
  EXPECT_THAT(words.title, HasSubstr("1.6 × as long"));
  EXPECT_THAT(
      words.explanation,
      HasSubstr("is busy for 320 ms; the median of 4 such threads with as many events is 200 ms"));
}

TEST(HostImbalance, IsSilentBelowItsThresholdsAndOfWhatMayBeWaiting) {
  EXPECT_EQ(host_finding(analyze(pipeline_timeline(4, 11)), "load-imbalance"), nullptr)
      << "1.1 × is usual";
  EXPECT_NE(host_finding(analyze(pipeline_timeline(4, 13)), "load-imbalance"), nullptr);

  EXPECT_EQ(host_finding(analyze(pipeline_timeline(3, 16)), "load-imbalance"), nullptr)
      << "too few to know the usual one";
  EXPECT_EQ(host_finding(analyze(pipeline_timeline(4, 16, "pp-comm")), "load-imbalance"), nullptr)
      << "it may wait";
  EXPECT_EQ(host_finding(analyze(pipeline_timeline(4, 16, "compute", true)), "load-imbalance"),
            nullptr)
      << "other work";
}

TEST(HostTime, MeasuresStepsFromTheEndOfTheStepBefore) {
  Analysis const analysis = analyze(loop_with_waits(-1, 7));
  ASSERT_EQ(analysis.hosts.size(), 1U);
  HostStats const& host = analysis.hosts[0];
  ASSERT_EQ(host.steps.size(), 10U);
  EXPECT_TRUE(host.steps[0].warmup);
  EXPECT_EQ(host.counted_steps, 9U);

  EXPECT_EQ(host.steps[1].period.begin, host.steps[0].range.end);
  EXPECT_EQ(host.steps[0].range.begin, 7);

  EXPECT_EQ(host.mean_ns, 110 * kMicrosecond);
  EXPECT_EQ(host.median_ns, 110 * kMicrosecond);
  EXPECT_EQ(host.p95_ns, 110 * kMicrosecond);
  EXPECT_EQ(host.input_ns, 30 * kMicrosecond);
}

TEST(HostTime, AStepWhoseNumberDoesNotFollowBeginsWhereItBegins) {
  HostProgram program;
  program.step(0, 0, 100);
  program.step(5, 300, 400);
  Analysis const analysis = analyze(std::move(program).run());
  ASSERT_EQ(analysis.hosts.size(), 1U);
  EXPECT_EQ(analysis.hosts[0].steps[1].period.length(), 100);
}

TEST(HostTime, SplitsTimeByRangeWithAndWithoutInnerRanges) {
  Analysis const analysis = analyze(loop_with_waits());
  HostRangeStats const& phase = host_range(analysis.hosts[0], "forward");

  EXPECT_EQ(phase.kind, HostRangeKind::kPhase);
  EXPECT_EQ(phase.count, 10U);
  EXPECT_EQ(phase.inclusive_ns, 500 * kMicrosecond);
  EXPECT_EQ(phase.exclusive_ns, 300 * kMicrosecond);
  EXPECT_EQ(phase.step_inclusive_ns, 50 * kMicrosecond);
  EXPECT_EQ(phase.step_exclusive_ns, 30 * kMicrosecond);

  EXPECT_EQ(host_range(analysis.hosts[0], "wait for batch").kind, HostRangeKind::kInput);
  for (HostRangeStats const& range : analysis.hosts[0].ranges) EXPECT_NE(range.name, "step");
}

TEST(HostTime, ARangeWithinItselfCountsOnce) {
  HostProgram program;
  program.range(0, 100, "visit");
  program.range(10, 60, "visit");
  Analysis const analysis = analyze(std::move(program).run());
  HostRangeStats const& range = host_range(analysis.hosts[0], "visit");
  EXPECT_EQ(range.inclusive_ns, 100);
  EXPECT_EQ(range.exclusive_ns, 100);
  EXPECT_EQ(range.longest_ns, 100);
}

TEST(HostTime, MeasuresHowLongThreadsAreBusy) {
  HostProgram program;
  TrackId const helper = program.thread("helper");
  program.range(0, 100, "work");
  program.range_on(helper, 0, 30, "load");
  program.range_on(helper, 20, 50, "decode");
  Analysis const analysis = analyze(std::move(program).run());
  ASSERT_EQ(analysis.hosts[0].threads.size(), 2U);
  EXPECT_EQ(analysis.hosts[0].threads[0].name, "main");
  EXPECT_EQ(analysis.hosts[0].threads[1].busy_ns, 50);
}

TEST(HostTime, AThreadThatOnlyMarksStepsComesLast) {
  HostProgram program;
  TrackId const worker = program.thread("worker");
  program.step(1, 0, 100);
  program.range_on(worker, 0, 30, "load");
  Analysis const analysis = analyze(std::move(program).run());
  ASSERT_EQ(analysis.hosts[0].threads.size(), 2U);
  EXPECT_EQ(analysis.hosts[0].threads[0].name, "worker");
}

TEST(HostTime, NamesWhatASlowStepHasMoreOf) {
  Analysis const analysis = analyze(loop_with_waits(6));
  HostStats const& host = analysis.hosts[0];
  ASSERT_TRUE(host.slow);
  EXPECT_EQ(host.slow->count, 1U);
  EXPECT_EQ(host.slow->worst, 6);
  EXPECT_EQ(host.slow->differs, "tokenize");
  EXPECT_EQ(host.slow->differs_ns, 400 * kMicrosecond);

  Finding const* finding = host_finding(analysis, "step-outliers");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(*finding->where, (DeviceRef{0, kHostDevice}));
  EXPECT_EQ(*finding->cost_ns_per_step, 400 * kMicrosecond / 9);
  EXPECT_EQ(host_finding(analyze(loop_with_waits()), "step-outliers"), nullptr);
}

TEST(HostTime, RangesOfAStepHaveTheSlowOnesInThemAsItsMeanHas) {
  Analysis const analysis = analyze(loop_with_waits(6));
  HostStats const& host = analysis.hosts[0];
  HostRangeStats const& inner = host_range(host, "tokenize");
  EXPECT_EQ(host.counted_steps, 9U);
  EXPECT_EQ(inner.step_exclusive_ns, (8 * 20 + 420) * kMicrosecond / 9);
  EXPECT_EQ(inner.step_inclusive_ns, inner.step_exclusive_ns);
  EXPECT_EQ(inner.steady_exclusive_ns, 20 * kMicrosecond);

  HostRangeStats const& wait = host_range(host, "wait for batch");
  EXPECT_EQ(wait.step_exclusive_ns, host.input_ns) << "one number for waiting";
}

TEST(HostTime, TimeInNoRangeCanBeWhatDiffers) {
  HostProgram program;
  for (int64_t i = 0; i < 5; ++i) {
    program.step(i, i * 1'000, i * 1'000 + (i == 3 ? 900 : 100));
    program.range(i * 1'000, i * 1'000 + 50, "work");
  }

  AnalyzeOptions options;
  options.warmup_steps = 0;
  Analysis const analysis = analyze(std::move(program).run(), options);

  ASSERT_TRUE(analysis.hosts[0].slow);
  EXPECT_EQ(analysis.hosts[0].slow->count, 0U);
  EXPECT_EQ(analysis.hosts[0].slow->differs, std::nullopt);
}

TEST(HostTime, TimeInNoRangeIsNamedWhereItIsTheMost) {
  HostProgram program;
  for (int64_t i = 0; i < 5; ++i) {
    program.step(i, i * 1'000, i * 1'000 + 1'000);
    program.range(i * 1'000, i * 1'000 + 300, "work");
  }
  model::Run const run = std::move(program).run();
  Analysis const analysis = analyze(run);
  EXPECT_EQ(unnamed_time(analysis.hosts[0]), 700);
  EXPECT_THAT(reports::analysis_text(run, analysis, {}),
              HasSubstr("is in no range: 700 ns a step"));

  EXPECT_THAT(reports::analysis_text(run, analyze(loop_with_waits()), {}),
              Not(HasSubstr("is in no range")));
}

TEST(HostTime, WaitingForDataIsAFindingFromFivePerCentOn) {
  auto const with_wait = [](int64_t wait) {
    HostProgram program;
    for (int64_t i = 0; i < 10; ++i) {
      program.step(i, i * 1'000, (i + 1) * 1'000);
      program.range(i * 1'000, i * 1'000 + wait, "DataLoader.__next__");
    }
    return analyze(std::move(program).run());
  };

  Analysis const enough = with_wait(60);
  Finding const* finding = host_finding(enough, "input-bound");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(*finding->cost_ns_per_step, 60);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_EQ(host_finding(with_wait(40), "input-bound"), nullptr);
}

TEST(HostTime, OnlyTheStepsThatWereAskedForCount) {
  AnalyzeOptions options;
  options.steps = {3, 4};
  Analysis const analysis = analyze(loop_with_waits(), options);
  ASSERT_EQ(analysis.hosts.size(), 1U);
  EXPECT_EQ(analysis.hosts[0].steps.size(), 2U);
  EXPECT_EQ(host_range(analysis.hosts[0], "forward").count, 2U);
  EXPECT_EQ(analysis.hosts[0].window.length(), 210 * kMicrosecond);
}

TEST(HostTime, ADeviceThatWorksIsAnalyzedAsBefore) {
  TraceBuilder builder;
  TrackId const thread =
      builder.add_track({TrackKind::kThread, "main", 1, -1, StreamKind::kCompute, 0});
  TrackId const stream =
      builder.add_track({TrackKind::kStream, "stream", 0, 0, StreamKind::kCompute, 0});

  builder.events(thread).add(EventKind::kStep, 0, 100, builder.intern("step"), 0, StepDetail{0});
  builder.events(stream).add(EventKind::kKernel, 10, 20, builder.intern("k"), 1, KernelDetail{});

  model::Run run;
  run.ranks.push_back({std::move(builder).finish(), 0, ""});
  EXPECT_TRUE(analyze(run).hosts.empty());
}

TEST(HostTime, TextsSayWhatStepsTakeAndNothingOfDevices) {
  model::Run const run = loop_with_waits();
  Analysis const analysis = analyze(run);
  std::string const text = reports::analysis_text(run, analysis, {});
  EXPECT_THAT(text, HasSubstr("9 steps (annotated by the program), 1 warm-up left out"));
  EXPECT_THAT(text, HasSubstr("110 µs"));
  EXPECT_THAT(text, HasSubstr("tokenize"));
  EXPECT_THAT(text, Not(HasSubstr("nothing to judge")));
  EXPECT_THAT(text, Not(HasSubstr("no steps found")));
}

/// Negotiations of `count` collectives, 1 ms apart. In each of them the rank `late` of three comes
/// last, by `late_us`.
Run negotiations(int count, int64_t late, int64_t late_us, bool with_torn = false) {
  HostProgram program;
  for (int i = 0; i < count; ++i) {
    int64_t const begin = i * 1'000 * kMicrosecond;
    program.range(begin, begin + (10 + late_us) * kMicrosecond, "NEGOTIATE_ALLREDUCE");

    int64_t ready = begin;
    for (int64_t rank = 0; rank < 3; ++rank) {
      bool const is_torn = with_torn && i == 0 && rank == late;
      int64_t const at =
          rank == late ? begin + (10 + late_us) * kMicrosecond : (ready += 5 * kMicrosecond);
      if (!is_torn)
        program.range(at, at, std::to_string(rank),
                      rank == 1 ? EventKind::kMark : EventKind::kRange);
    }

    program.range(begin + 400 * kMicrosecond, begin + 500 * kMicrosecond, "ALLREDUCE");
  }
  return std::move(program).run();
}

TEST(Negotiations, NameTheRankThatComesLast) {
  model::Run const run = negotiations(5, 2, 300);
  Analysis const analysis = analyze(run);
  ASSERT_EQ(analysis.negotiations.size(), 1U);
  NegotiationStats const& facts = analysis.negotiations[0];

  EXPECT_EQ(facts.count, 5U);
  ASSERT_EQ(facts.ranks.size(), 3U);
  EXPECT_EQ(facts.ranks[0].rank, 2);
  EXPECT_EQ(facts.ranks[0].last, 5U);
  EXPECT_EQ(facts.ranks[0].mean_ns, 300 * kMicrosecond);
  EXPECT_EQ(facts.ranks[0].late_ns, 1'500 * kMicrosecond);
  EXPECT_EQ(facts.ranks[0].moments, 5U);

  Finding const* finding = host_finding(analysis, "straggler");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kCritical);
  EXPECT_EQ(reports::words_of(run, analysis, *finding).title, "Rank 2 makes the others wait");
}

TEST(Negotiations, AreNoFindingWhereTheyAreFewOrShort) {
  EXPECT_EQ(host_finding(analyze(negotiations(2, 0, 300)), "straggler"), nullptr);
  EXPECT_EQ(host_finding(analyze(negotiations(5, 0, 20)), "straggler"), nullptr);
}

TEST(Negotiations, ThatLackARankDoNotCount) {
  Analysis const analysis = analyze(negotiations(5, 2, 300, true));
  EXPECT_EQ(analysis.negotiations[0].count, 4U);
  EXPECT_EQ(analysis.negotiations[0].incomplete, 1U);
}

TEST(HostTime, ALoaderWithoutWorkersIsKnownByItsIterator) {
  auto const loader = [](char const* name) {
    HostProgram program;
    for (int64_t number = 0; number < 10; ++number) {
      int64_t const begin = number * 100 * kMicrosecond;
      program.step(number, begin, begin + 100 * kMicrosecond);
      program.range(begin, begin + 60 * kMicrosecond, name, EventKind::kInputWait);
    }

    model::Run const run = std::move(program).run();
    Analysis const analysis = analyze(run);
    return analysis.findings.empty()
               ? std::string()
               : reports::words_of(run, analysis, analysis.findings[0]).advice;
  };

  EXPECT_THAT(loader("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"),
              HasSubstr("Set num_workers"));
  EXPECT_THAT(loader("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"),
              Not(HasSubstr("Set num_workers")));
}

}  // namespace
}  // namespace stepscope::analyzer
