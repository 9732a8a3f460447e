// What a comparison measures of a run: the kernels of each step, the parts of the mean step, and
// the steps of interleaved runs.
#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/compare/run_sample.h"
#include "tests/unit/analyzer/compare/comparison_samples.h"
#include "tests/unit/analyzer/rules/work/work_run.h"

namespace stepscope::analyzer {
namespace {

using compare_testing::steady_job;
using support::SyntheticOptions;
using testing_support::WorkRun;

TEST(StepKernels, AKernelIsOfTheStepInWhoseWindowItBegins) {
  WorkRun run;
  run.step(0, 100, 0).step(100, 100, 1);
  run.kernel(10, 20, run.launch(1, 1), "a")
      .kernel(40, 10, run.launch(2, 1), "b")
      .kernel(60, 5, run.launch(3, 1), "a");
  run.copy(70, 20, run.launch(4, 1), "in",
           {1000, model::CopyDirection::kHostToDevice, -1, 0, 0, 0});
  run.kernel(110, 30, run.launch(101, 1), "b");
  run.copy(150, 20, run.launch(104, 1), "out",
           {500, model::CopyDirection::kDeviceToHost, -1, 0, 0, 0});

  Analysis const analysis = analyze(run.finish());
  ASSERT_EQ(analysis.steps.size(), 2U);
  auto const kernels_of = [&](StepStats const& step) {
    std::vector<std::tuple<std::string, uint32_t, int64_t>> rows;
    for (StepKernel const& row : step.kernels)
      rows.emplace_back(analysis.kernels.at(row.kernel).name, row.count, row.total_ns);
    std::sort(rows.begin(), rows.end());
    return rows;
  };

  using Rows = std::vector<std::tuple<std::string, uint32_t, int64_t>>;
  EXPECT_EQ(kernels_of(analysis.steps[0]), (Rows{{"a", 2, 25}, {"b", 1, 10}}));
  EXPECT_EQ(kernels_of(analysis.steps[1]), (Rows{{"b", 1, 30}}));
  EXPECT_EQ(analysis.steps[0].copied_in_bytes, 1000U);
  EXPECT_EQ(analysis.steps[1].copied_in_bytes, 0U);
}

TEST(StepKernels, KernelsOfLessTimeAreTakenTogether) {
  WorkRun run;
  run.step(0, 100'000, 0);
  constexpr int kNames = 100;
  for (int i = 0; i < kNames; ++i)
    run.kernel(1000 * i, 900 - i, run.launch(i, 1), "kernel " + std::to_string(i));

  Analysis const analysis = analyze(run.finish());
  std::vector<StepKernel> const& kernels = analysis.steps.at(0).kernels;
  ASSERT_EQ(kernels.size(), 65U);
  EXPECT_EQ(kernels.back().kernel, StepKernel::kOthers);
  EXPECT_EQ(kernels.back().count, 36U);
}

TEST(CompareSample, AStepOfTheJobIsTheMeanOfItsDevices) {
  SyntheticOptions options = steady_job();
  options.devices = 3;
  options.straggler_device = 1;
  options.input_delay_ns = 2'000'000;

  model::Run const run = support::make_synthetic_run(options);
  Analysis const analysis = analyze(run);
  RunMeasurements const sample = sample_run(run, analysis);
  EXPECT_EQ(sample.devices, 3U);
  ASSERT_EQ(sample.steps.size(), 23U);
  EXPECT_EQ(sample.steps.front(), 1);
  EXPECT_EQ(sample.warmup_steps, 1U);

  std::vector<double> mean_compute(sample.steps.size(), 0);
  for (StepStats const& step : analysis.steps)
    if (step.step > 0)
      mean_compute[static_cast<size_t>(step.step - 1)] +=
          static_cast<double>(step.time.compute_ns) / 3;
  for (size_t s = 0; s < sample.steps.size(); ++s) {
    double sum = 0, of_kernels = 0;
    for (auto const& part : sample.parts_ns) sum += part[s];
    for (auto const& kernel : sample.kernels) of_kernels += kernel.ns[s];
    EXPECT_NEAR(sum, sample.step_ns[s], 1e-3);
    EXPECT_NEAR(sample.parts_ns[0][s], mean_compute[s], 1e-3);
    EXPECT_NEAR(of_kernels, mean_compute[s], 1e-3);
  }

  EXPECT_EQ(sample.allocated_bytes.size(), sample.steps.size());
  EXPECT_FALSE(sample.collectives.empty());
}

/// Steps of 100 ns plus their number, back to back. The program pauses for 5000 ns before each turn
/// of 4 steps.
model::Run run_in_turn(std::string const& turns) {
  WorkRun run;
  int64_t at = 0;
  for (int64_t i = 0; i < 20; ++i) {
    if (i % 4 == 0) at += 5000;
    run.step(at, 100 + i, i).kernel(at + 2, 98 + i, run.launch(at, 1));
    at += 100 + i;
  }

  run.builder().info().facts.emplace_back("turns", turns);
  run.builder().info().facts.emplace_back("Slurm job", "4711");
  return run.finish();
}

TEST(CompareSample, OfARunInTurnTheFastestStepsCountAndNoneAfterAPause) {
  model::Run const run = run_in_turn("4 of 4 steps");
  Analysis const analysis = analyze(run);
  std::vector<int64_t> after_pause;
  for (StepStats const& step : analysis.steps)
    if (step.after_pause) after_pause.push_back(step.step);
  EXPECT_EQ(after_pause, (std::vector<int64_t>{0, 4, 8, 12, 16})) << "the first of every turn";

  RunMeasurements const sample = sample_run(run, analysis);
  EXPECT_EQ(sample.steps_in_turn, 15U);
  EXPECT_EQ(sample.steps, (std::vector<int64_t>{1, 2, 3, 5}));
  EXPECT_EQ(sample.step_ns, (std::vector<double>{101, 102, 103, 105}));
  EXPECT_EQ(sample.all_steps_ns, 110) << "mean of all steps that follow no pause";
  EXPECT_EQ(sample.warmup_steps, 0U);
  EXPECT_TRUE(sample.facts.empty())
      << "how many turns there were, and in which job, is no difference";
}

TEST(CompareSample, AFactOfTurnsThatMakesNoSenseIsNone) {
  for (char const* text : {"", "4", "0 of 4 steps", "4 of 1 steps", "-1 of 4 steps",
                           "4 of 4 stepsx", "99999999999999999999 of 4 steps"}) {
    model::Run const run = run_in_turn(text);
    EXPECT_EQ(sample_run(run, analyze(run)).steps_in_turn, 0U) << text;
  }
}

}  // namespace
}  // namespace stepscope::analyzer
