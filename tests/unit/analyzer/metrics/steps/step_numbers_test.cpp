// Steps whose numbers are not unique in a rank get the number of the step of the job, on every
// rank.
#include "analyzer/metrics/steps/step_numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/metrics/steps/measured_steps.h"
#include "analyzer/metrics/steps/step_names.h"
#include "analyzer/results/analysis.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::analyzer {
namespace {

using testing::ElementsAre;
using Numbers = std::vector<int64_t>;

constexpr int64_t kMillisecond = 1'000'000;

/// Steps of 0.8 ms; one begins each ms from `first_ms` on.
std::vector<HostStep> host_steps(Numbers const& numbers, int64_t first_ms = 0) {
  std::vector<HostStep> steps;
  for (size_t i = 0; i < numbers.size(); ++i) {
    int64_t const begin = (first_ms + static_cast<int64_t>(i)) * kMillisecond;
    steps.push_back({{begin, begin + 800'000}, 0, numbers[i]});
  }
  return steps;
}

Numbers indices(std::vector<HostStep> const& steps) {
  Numbers result;
  for (HostStep const& step : steps) result.push_back(step.index);
  return result;
}

/// One thread a rank.
std::vector<Numbers> number_ranks(std::vector<std::vector<HostStep>> const& ranks,
                                  bool are_clocks_good = true) {
  std::vector<std::vector<std::vector<HostStep>>> threads;
  for (std::vector<HostStep> const& rank : ranks) threads.push_back({rank});
  number_steps(threads, are_clocks_good);
  std::vector<Numbers> result;
  for (auto const& rank : threads) result.push_back(indices(rank.front()));
  return result;
}

TEST(StepNumbers, ThatOnlyGrowAreKept) {
  EXPECT_THAT(number_ranks({host_steps({3, 4, 7, 20}), host_steps({4, 7}, 1)}),
              ElementsAre(Numbers{3, 4, 7, 20}, Numbers{4, 7}));
}

TEST(StepNumbers, ThatBeginAgainAreCountedThrough) {
  EXPECT_THAT(number_ranks({host_steps({0, 1, 2, 0, 1, 2})}),
              ElementsAre(Numbers{0, 1, 2, 3, 4, 5}));
  EXPECT_THAT(number_ranks({host_steps({2, 0, 1, 2})}), ElementsAre(Numbers{2, 3, 4, 5}));
}

TEST(StepNumbers, ThatStayOrGoBackAreCountedThrough) {
  EXPECT_THAT(number_ranks({host_steps({0, 0, 0})}), ElementsAre(Numbers{0, 1, 2}));
  EXPECT_THAT(number_ranks({host_steps({9, 8, 7})}), ElementsAre(Numbers{9, 10, 11}));
}

TEST(StepNumbers, ARankThatBeginsLaterOrLacksAStepIsNotMisaligned) {
  EXPECT_THAT(number_ranks({host_steps({0, 1, 2, 0, 1, 2}), host_steps({1, 2, 0, 2}, 40)}, false),
              ElementsAre(Numbers{0, 1, 2, 3, 4, 5}, Numbers{1, 2, 3, 5}));
  EXPECT_THAT(number_ranks({host_steps({9, 8, 7, 6}), host_steps({8, 7, 6}, 40)}, false),
              ElementsAre(Numbers{9, 10, 11, 12}, Numbers{10, 11, 12}));
}

TEST(StepNumbers, WhereNumbersAreNotUniqueTheClockDecides) {
  EXPECT_THAT(number_ranks({host_steps({0, 0, 0, 0}), host_steps({0, 0, 0}, 1)}),
              ElementsAre(Numbers{0, 1, 2, 3}, Numbers{1, 2, 3}));
  // Both have as many steps. With good clocks one began later; with bad ones the difference may be
  // an error.
  EXPECT_THAT(number_ranks({host_steps({0, 0, 0, 0}), host_steps({0, 0, 0, 0}, 1)}),
              ElementsAre(Numbers{0, 1, 2, 3}, Numbers{1, 2, 3, 4}));
  EXPECT_THAT(number_ranks({host_steps({0, 0, 0, 0}), host_steps({0, 0, 0, 0}, 1)}, false),
              ElementsAre(Numbers{0, 1, 2, 3}, Numbers{0, 1, 2, 3}));
  // Begins so far apart are no error of clocks.
  Numbers const many(600, 0);
  EXPECT_EQ(number_ranks({host_steps(many), host_steps(many, 200)}, false)[1].front(), 200);
}

TEST(StepNumbers, ThreadsThatTakeTurnsCountOn) {
  std::vector<std::vector<std::vector<HostStep>>> threads = {
      {host_steps({0, 1, 2}), {}, host_steps({0, 1, 2}, 3)}};
  number_steps(threads, true);
  EXPECT_THAT(indices(threads[0][2]), ElementsAre(3, 4, 5));

  // Threads that work at the same time have the same steps.
  threads = {{host_steps({0, 1, 0, 1}), host_steps({0, 1, 0, 1})}};
  number_steps(threads, true);
  EXPECT_THAT(indices(threads[0][0]), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(indices(threads[0][1]), ElementsAre(0, 1, 2, 3));
}

TEST(StepNumbers, ThatSkipAreAGapOnlyWhereTheirTimeIsMissing) {
  std::vector<std::vector<std::vector<HostStep>>> threads = {{host_steps({0, 1, 2, 5, 6})}};
  number_steps(threads, true);
  for (HostStep const& step : threads[0][0]) EXPECT_FALSE(step.is_after_gap) << step.number;

  std::vector<HostStep> steps = host_steps({0, 1, 2});
  for (HostStep const& step : host_steps({5, 6}, 5)) steps.push_back(step);
  threads = {{steps}};
  number_steps(threads, true);
  EXPECT_TRUE(threads[0][0][3].is_after_gap);
  EXPECT_FALSE(threads[0][0][4].is_after_gap);
}

TEST(StepNames, NamesOfFrameworksNeedNoNumber) {
  for (std::string_view const name :
       {"execute_context_1(512)_generation_32(32)",
        "execute_32_context_0(sq0sk0)_generation_32(sq32)", "execute_new_1_cached_32",
        "step[EXTEND bs=1 toks=107]", "step[DECODE bs=8]", "[pl][profile]run_training_batch",
        "PipelineEngine.train_batch"})
    EXPECT_EQ(step_number(name), 0) << name;

  EXPECT_EQ(step_number("[Executor] _forward_step 12: 0 ctx reqs, 3 gen reqs"), 12);
  EXPECT_EQ(step_number("ProfileStep#3[2.868 ms]"), 3);
  EXPECT_EQ(step_number("epoch 2, step 7"), 7);
  EXPECT_EQ(step_number("step 3/100"), 3);
  EXPECT_EQ(step_number("iteration[4,8)"), 4);

  for (std::string_view const name :
       {"execute_model", "execute_context_1", "step[3][4]", "[pl][profile]run_training_epoch",
        "[Executor] _forward_step x", "step 3 forward", "epoch 3", "update 7", "evaluate step 3",
        "DeepSpeedEngine.step"})
    EXPECT_FALSE(step_number(name)) << name;
}

TEST(StepNames, ThatMeanOtherThingsTooAreNotCertain) {
  for (std::string_view const name :
       {"step", "Iteration", "train_step", "training_step", "train_batch", "batch 3"}) {
    ASSERT_TRUE(step_name(name)) << name;
    EXPECT_FALSE(step_name(name)->is_certain) << name;
    EXPECT_FALSE(step_number(name)) << name;
  }
  EXPECT_FALSE(step_name("batch"));
  EXPECT_FALSE(step_name("update"));
}

/// One kernel a step of 1 ms, launched in a range of `fill` ns; the names repeat.
model::Run run_of_named_ranges(std::vector<std::string> const& names, int64_t fill,
                               int64_t lost = -1, int64_t idle = -1) {
  model::TraceBuilder builder;
  model::TrackId const thread =
      builder.add_track({model::TrackKind::kThread, "main", 1, -1, model::StreamKind::kCompute, 0});
  model::TrackId const stream = builder.add_track(
      {model::TrackKind::kStream, "stream", 7, 0, model::StreamKind::kCompute, 0});

  for (int64_t i = 0; i < 12; ++i) {
    int64_t const begin = i * kMillisecond;
    auto const id = static_cast<uint64_t>(i + 1);
    builder.events(thread).add_range(begin, fill,
                                     builder.intern(names[static_cast<size_t>(i) % names.size()]));
    if (i == idle) continue;

    builder.events(thread).add(model::EventKind::kLaunch, begin + 10, 10,
                               builder.intern("cudaLaunchKernel"), id);

    if (i == lost) continue;
    builder.events(stream).add(model::EventKind::kKernel, begin + 100, 600'000,
                               builder.intern("k" + std::to_string(i)), id, model::KernelDetail{});
  }

  model::Run run;
  run.ranks.push_back({std::move(builder).finish(), 0, ""});
  return run;
}

std::vector<int64_t> lengths_of_periods(model::Run const& run) {
  std::vector<int64_t> lengths;
  Analysis const analysis = analyze(run);
  auto const periods = measured_periods(analysis);
  for (MeasuredPeriod const& period : periods.at(0)) lengths.push_back(period.when.length());
  return lengths;
}

TEST(Steps, IdleTimeBetweenThemIsNotLostWhereNumbersBeginAgain) {
  for (std::vector<std::string> const& names :
       {std::vector<std::string>{"step 0", "step 1", "step 2"},
        {"step 0"},
        {"step[DECODE bs=8]"},
        {"train_step"}})
    EXPECT_EQ(lengths_of_periods(run_of_named_ranges(names, 800'000)),
              std::vector<int64_t>(11, kMillisecond))
        << names.front();
}

TEST(Steps, RangesThatMayBeStepsMustFillTheirTime) {
  EXPECT_EQ(analyze(run_of_named_ranges({"step"}, 600'000)).steps.size(), 12U);
  EXPECT_TRUE(analyze(run_of_named_ranges({"step"}, 300'000)).steps.empty()) << "an optimizer's";
}

TEST(Steps, OneWithoutOpsIsIdleTimeUnlessItsOpsWereLost) {
  std::vector<int64_t> expected(10, kMillisecond);
  expected[4] = 2 * kMillisecond;
  EXPECT_EQ(lengths_of_periods(run_of_named_ranges({"step 0"}, 800'000, -1, 5)), expected);
  expected[4] = 600'100;
  EXPECT_EQ(lengths_of_periods(run_of_named_ranges({"step 0"}, 800'000, 5)), expected);
}

}  // namespace
}  // namespace stepscope::analyzer
