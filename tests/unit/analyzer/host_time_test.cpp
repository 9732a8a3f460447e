// Processes without a device: steps, waits for data, time by range, what slow steps have more of, and who is ready last for
// collectives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analysis.h"
#include "reports/summary.h"
#include "reports/text/text.h"
#include "reports/wording.h"
#include "trace/model/trace_builder.h"

namespace stepscope::analyzer {
namespace {

using namespace model;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t kMicrosecond = 1'000;

/// One thread that marks steps, and others that help.
class HostProgram {
 public:
  HostProgram() : main_(thread("main")) {}
  TrackId thread(std::string const& name) {
    return builder_.add_track({TrackKind::kThread, name, ++threads_, -1, StreamKind::kCompute, 0});
  }
  void step(int64_t number, int64_t begin, int64_t end) {
    builder_.events(main_).add(EventKind::kStep, begin, end - begin, builder_.intern("step"), 0, StepDetail{number});
  }
  void range(int64_t begin, int64_t end, std::string const& name, EventKind kind = EventKind::kRange) {
    range_on(main_, begin, end, name, kind);
  }
  void range_on(TrackId track, int64_t begin, int64_t end, std::string const& name, EventKind kind = EventKind::kRange) {
    builder_.events(track).add(kind, begin, end - begin, builder_.intern(name));
  }
  Run run(int64_t offset = 0) && {
    Run run;
    run.ranks.push_back({std::move(builder_).finish(), offset, ""});
    return run;
  }

 private:
  TraceBuilder builder_;
  int64_t threads_ = 0;
  TrackId main_;
};

/// Ten steps of 100 µs, 10 µs apart: 30 µs of waiting, 50 µs of work with 20 µs of a range in it. Step `slow` has 400 µs more of
/// the inner range.
Run loop_with_waits(int64_t slow = -1, int64_t offset = 0) {
  HostProgram program;
  int64_t now = 0;
  for (int64_t number = 0; number < 10; ++number) {
    int64_t const more = number == slow ? 400 * kMicrosecond : 0;
    program.step(number, now, now + 100 * kMicrosecond + more);
    program.range(now, now + 30 * kMicrosecond, "wait for batch", EventKind::kInputWait);
    program.range(now + 40 * kMicrosecond, now + 90 * kMicrosecond + more, "forward", EventKind::kPhase);
    program.range(now + 50 * kMicrosecond, now + 70 * kMicrosecond + more, "tokenize");
    now += 110 * kMicrosecond + more;
  }
  return std::move(program).run(offset);
}

HostRangeFacts const& range_of(HostFacts const& host, std::string_view name) {
  for (HostRangeFacts const& range : host.ranges)
    if (range.name == name) return range;
  ADD_FAILURE() << name << " is not there";
  static HostRangeFacts const kNone;
  return kNone;
}

Finding const* finding_of(Analysis const& analysis, std::string_view rule) {
  for (Finding const& finding : analysis.findings)
    if (finding.rule == rule) return &finding;
  return nullptr;
}

TEST(HostTime, MeasuresStepsFromTheEndOfTheStepBefore) {
  Analysis const analysis = analyze(loop_with_waits(-1, 7));
  ASSERT_EQ(analysis.hosts.size(), 1U);
  HostFacts const& host = analysis.hosts[0];
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
  HostRangeFacts const& phase = range_of(analysis.hosts[0], "forward");
  EXPECT_EQ(phase.kind, HostRangeKind::kPhase);
  EXPECT_EQ(phase.count, 10U);
  EXPECT_EQ(phase.inclusive_ns, 500 * kMicrosecond);
  EXPECT_EQ(phase.exclusive_ns, 300 * kMicrosecond);
  EXPECT_EQ(phase.step_inclusive_ns, 50 * kMicrosecond);
  EXPECT_EQ(phase.step_exclusive_ns, 30 * kMicrosecond);
  EXPECT_EQ(range_of(analysis.hosts[0], "wait for batch").kind, HostRangeKind::kInput);
  for (HostRangeFacts const& range : analysis.hosts[0].ranges) EXPECT_NE(range.name, "step");
}

TEST(HostTime, ARangeWithinItselfCountsOnce) {
  HostProgram program;
  program.range(0, 100, "visit");
  program.range(10, 60, "visit");
  Analysis const analysis = analyze(std::move(program).run());
  HostRangeFacts const& range = range_of(analysis.hosts[0], "visit");
  EXPECT_EQ(range.inclusive_ns, 100);
  EXPECT_EQ(range.exclusive_ns, 100);
  EXPECT_EQ(range.longest_ns, 100);
}

TEST(HostTime, TellsHowLongThreadsAreBusy) {
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

TEST(HostTime, NamesWhatASlowStepHasMoreOf) {
  Analysis const analysis = analyze(loop_with_waits(6));
  HostFacts const& host = analysis.hosts[0];
  ASSERT_TRUE(host.slow);
  EXPECT_EQ(host.slow->count, 1U);
  EXPECT_EQ(host.slow->worst, 6);
  EXPECT_EQ(host.slow->differs, "tokenize");
  EXPECT_EQ(host.slow->differs_ns, 400 * kMicrosecond);
  Finding const* finding = finding_of(analysis, "step-outliers");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(*finding->where, (DeviceRef{0, kHostDevice}));
  EXPECT_EQ(*finding->cost_ns_per_step, 400 * kMicrosecond / 9);
  EXPECT_EQ(finding_of(analyze(loop_with_waits()), "step-outliers"), nullptr);
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
  Finding const* finding = finding_of(enough, "input-bound");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(*finding->cost_ns_per_step, 60);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_EQ(finding_of(with_wait(40), "input-bound"), nullptr);
}

TEST(HostTime, OnlyTheStepsThatWereAskedForCount) {
  AnalyzeOptions options;
  options.steps = {3, 4};
  Analysis const analysis = analyze(loop_with_waits(), options);
  ASSERT_EQ(analysis.hosts.size(), 1U);
  EXPECT_EQ(analysis.hosts[0].steps.size(), 2U);
  EXPECT_EQ(range_of(analysis.hosts[0], "forward").count, 2U);
  EXPECT_EQ(analysis.hosts[0].window.length(), 210 * kMicrosecond);
}

TEST(HostTime, ADeviceThatWorksIsAnalyzedAsBefore) {
  TraceBuilder builder;
  TrackId const thread = builder.add_track({TrackKind::kThread, "main", 1, -1, StreamKind::kCompute, 0});
  TrackId const stream = builder.add_track({TrackKind::kStream, "stream", 0, 0, StreamKind::kCompute, 0});
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

/// Negotiations of as many collectives, 10 µs apart; in each `late` of three ranks comes last, by `late_us`.
Run negotiations(int count, int64_t late, int64_t late_us, bool with_torn = false) {
  HostProgram program;
  for (int i = 0; i < count; ++i) {
    int64_t const begin = i * 1'000 * kMicrosecond;
    program.range(begin, begin + (10 + late_us) * kMicrosecond, "NEGOTIATE_ALLREDUCE");
    int64_t ready = begin;
    for (int64_t rank = 0; rank < 3; ++rank) {
      bool const is_torn = with_torn && i == 0 && rank == late;
      int64_t const at = rank == late ? begin + (10 + late_us) * kMicrosecond : (ready += 5 * kMicrosecond);
      if (!is_torn) program.range(at, at, std::to_string(rank), rank == 1 ? EventKind::kMark : EventKind::kRange);
    }
    program.range(begin + 400 * kMicrosecond, begin + 500 * kMicrosecond, "ALLREDUCE");
  }
  return std::move(program).run();
}

TEST(Negotiations, NameTheRankThatComesLast) {
  model::Run const run = negotiations(5, 2, 300);
  Analysis const analysis = analyze(run);
  ASSERT_EQ(analysis.negotiations.size(), 1U);
  NegotiationFacts const& facts = analysis.negotiations[0];
  EXPECT_EQ(facts.count, 5U);
  ASSERT_EQ(facts.ranks.size(), 3U);
  EXPECT_EQ(facts.ranks[0].rank, 2);
  EXPECT_EQ(facts.ranks[0].last, 5U);
  EXPECT_EQ(facts.ranks[0].mean_ns, 300 * kMicrosecond);
  EXPECT_EQ(facts.ranks[0].late_ns, 1'500 * kMicrosecond);
  EXPECT_EQ(facts.ranks[0].moments, 5U);
  Finding const* finding = finding_of(analysis, "straggler");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kCritical);
  EXPECT_EQ(reports::words_of(run, analysis, *finding).title, "Rank 2 makes the others wait");
}

TEST(Negotiations, AreNoFindingWhereTheyAreFewOrShort) {
  EXPECT_EQ(finding_of(analyze(negotiations(2, 0, 300)), "straggler"), nullptr);
  EXPECT_EQ(finding_of(analyze(negotiations(5, 0, 20)), "straggler"), nullptr);
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
    return analysis.findings.empty() ? std::string() : reports::words_of(run, analysis, analysis.findings[0]).advice;
  };
  EXPECT_THAT(loader("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"), HasSubstr("Set num_workers"));
  EXPECT_THAT(loader("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"), Not(HasSubstr("Set num_workers")));
}

}  // namespace
}  // namespace stepscope::analyzer
