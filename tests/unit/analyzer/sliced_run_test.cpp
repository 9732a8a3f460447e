// A slice of some steps is analyzed as these steps are in the whole run.
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyzer/analyze.h"
#include "analyzer/metrics/steps/run_summary.h"
#include "analyzer/metrics/steps/steps.h"
#include "analyzer/results/analysis.h"
#include "reports/json/json.h"
#include "tests/support/synthetic_run.h"
#include "tests/unit/analyzer/random_training.h"
#include "trace/model/derive/slice.h"

namespace stepscope::analyzer {
namespace {

using support::SyntheticOptions;

/// `chosen`: the steps that it is made for, where it keeps others with them.
model::Run slice_of_steps(model::Run const& run, std::pair<int64_t, int64_t> wanted,
                          std::optional<std::pair<int64_t, int64_t>> chosen = {}) {
  HostSteps const host = find_host_steps(run);
  model::Run part;
  part.name = run.name;
  part.clock = run.clock;

  for (size_t r = 0; r < run.ranks.size(); ++r) {
    model::RankTrace const& rank = run.ranks[r];
    auto const steps = steps_between(host.threads[r], wanted, rank.offset_ns);
    model::WholeSteps whole =
        whole_steps(host.threads[r], steps.front().when.begin + rank.offset_ns, {0, -1});
    if (chosen) std::tie(whole.chosen_first, whole.chosen_last) = *chosen;
    part.ranks.push_back(
        {model::slice(rank.trace, model::window_of_steps(rank.trace, steps), whole), rank.offset_ns,
         rank.file});
  }
  return part;
}

/// All results of the steps. Begin and end of the run differ in a slice and are left out.
nlohmann::json analysis_of(model::Run const& run, std::pair<int64_t, int64_t> steps) {
  AnalyzeOptions options;
  options.steps = steps;
  auto document = nlohmann::json::parse(reports::analysis_json(run, analyze(run, options)));
  document["run"].erase("begin_ns");
  document["run"].erase("end_ns");
  return document;
}

class SlicedRun : public testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  [[nodiscard]] static SyntheticOptions options() {
    SyntheticOptions options;
    options.steps = 12;
    std::tie(options.sync_each_step, options.process_per_device) = GetParam();
    options.rank_clock_offset_ns = 3'000'000;
    return options;
  }

  static void expect_slice_agrees(SyntheticOptions const& options) {
    model::Run const run = make_synthetic_run(options);
    for (std::pair<int64_t, int64_t> const steps : {std::pair{5, 7}, {0, 3}, {1, 6}}) {
      model::Run const part = slice_of_steps(run, steps);
      for (size_t r = 0; r < run.ranks.size(); ++r)
        EXPECT_LT(part.ranks[r].trace.event_count(), run.ranks[r].trace.event_count() * 3 / 4);

      auto const difference =
          nlohmann::json::diff(analysis_of(run, steps), analysis_of(part, steps));
      EXPECT_TRUE(difference.empty())
          << "steps " << steps.first << ":" << steps.second << " " << difference.dump(1);
    }
  }
};

/// Without any option: who gets a slice need not know what it was cut from.
TEST_P(SlicedRun, MeasuresTheChosenSteps) {
  SyntheticOptions late = options();
  late.input_delay_ns = 12'000'000;
  model::Run const run = make_synthetic_run(late);
  model::Run const part = slice_of_steps(run, {4, 7}, std::pair(5, 7));

  Analysis const analysis = analyze(part);
  std::set<int64_t> measured;
  for (StepStats const& step : analysis.steps)
    if (!step.warmup) measured.insert(step.step);
  EXPECT_EQ(measured, (std::set<int64_t>{5, 6, 7}));

  AnalyzeOptions chosen;
  chosen.steps = {5, 7};
  double const whole_ns = summarize(analyze(run, chosen)).mean_ns;
  EXPECT_NEAR(summarize(analysis).mean_ns, whole_ns, 1e-3 * whole_ns);

  // And says what the whole run does.
  Analysis const whole = analyze(run);
  ASSERT_EQ(analysis.findings.empty(), whole.findings.empty());
  if (whole.findings.empty()) return;
  EXPECT_EQ(analysis.findings[0].rule, whole.findings[0].rule);
  EXPECT_EQ(analysis.findings[0].gain_alone.has_value(), whole.findings[0].gain_alone.has_value());
}

TEST_P(SlicedRun, HealthyOnesAgree) { expect_slice_agrees(options()); }

TEST_P(SlicedRun, AgreeWhereTheInputIsLate) {
  SyntheticOptions late = options();
  late.input_delay_ns = 12'000'000;
  expect_slice_agrees(late);
}

TEST_P(SlicedRun, AgreeWhereADeviceStraggles) {
  SyntheticOptions straggling = options();
  straggling.straggler_device = 1;
  straggling.overlap = false;
  expect_slice_agrees(straggling);
}

TEST_P(SlicedRun, AgreeWhereTheHostIsLateAndAllocates) {
  SyntheticOptions slow = options();
  slow.host_delay_ns = 700'000;
  slow.allocate_in_step = true;
  slow.leak_bytes_per_step = 1U << 20;
  expect_slice_agrees(slow);
}

/// The slice keeps the step before `steps`, too, as `stepscope slice` does.
nlohmann::json difference_of_slice(model::Run const& run, std::pair<int64_t, int64_t> steps) {
  model::Run const part =
      slice_of_steps(run, {std::max<int64_t>(0, steps.first - 1), steps.second});
  return nlohmann::json::diff(analysis_of(run, steps), analysis_of(part, steps));
}

TEST(SlicedTraining, AgreesWhateverItsTimesAre) {
  int differing = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    model::Run const run = testing_support::RandomTraining(seed).make(9);
    for (std::pair<int64_t, int64_t> const steps : {std::pair{0, 3}, {2, 4}, {5, 5}, {6, 8}}) {
      auto const difference = difference_of_slice(run, steps);
      if (difference.empty()) continue;
      ++differing;
      if (differing <= 10)
        ADD_FAILURE() << "seed " << seed << " steps " << steps.first << ":" << steps.second << " "
                      << difference.dump(1).substr(0, 800);
    }
  }

  EXPECT_EQ(differing, 0);
}

INSTANTIATE_TEST_SUITE_P(Analyzer, SlicedRun, testing::Combine(testing::Bool(), testing::Bool()),
                         [](auto const& made) {
                           return std::string(std::get<0>(made.param) ? "synchronized" : "ahead") +
                                  (std::get<1>(made.param) ? "_processes" : "_threads");
                         });

/// Steps of two epochs, each numbered from 0: the part counts from the number of its first step.
TEST(SlicedRun, ChoosesStepsByTheNumbersOfThePart) {
  std::vector<std::vector<HostStep>> threads(1);
  for (int64_t i = 0; i < 20; ++i) {
    HostStep& step = threads[0].emplace_back();
    step.index = i;
    step.number = i % 10;
    step.when = {i * 100, i * 100 + 90};
  }

  auto const chosen = whole_steps_in(threads, {1250, 1695}, {});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(*chosen, std::pair(int64_t{13}, int64_t{16}));
  model::WholeSteps const whole = whole_steps(threads, 1250, *chosen);
  EXPECT_EQ(whole.chosen_first, 3);
  EXPECT_EQ(whole.chosen_last, 6);

  EXPECT_FALSE(whole_steps_in(threads, {1210, 1280}, {}));
  model::WholeSteps source{20, 0, 14, 15};  // of these the part that is sliced was made
  EXPECT_EQ(whole_steps_in(threads, {0, 2000}, source), std::pair(int64_t{14}, int64_t{15}));
}

}  // namespace
}  // namespace stepscope::analyzer
