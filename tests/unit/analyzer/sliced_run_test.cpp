// A slice of some steps is analyzed as these steps are in the whole run.
#include <gtest/gtest.h>

#include "analyzer/analysis.h"
#include "analyzer/facts/steps.h"
#include "tests/support/synthetic_run.h"
#include "trace/model/slice.h"

namespace stepscope::analyzer {
namespace {

using support::SyntheticOptions;

model::Run slice_of_steps(model::Run const& run, int64_t first, int64_t last) {
  HostSteps const host = find_host_steps(run);
  model::Run part;
  part.name = run.name;
  part.clock = run.clock;
  for (size_t r = 0; r < run.ranks.size(); ++r) {
    std::vector<model::ThreadSteps> steps;
    int64_t const offset = run.ranks[r].offset_ns;
    for (uint32_t thread = 0; thread < host.threads[r].size(); ++thread) {
      auto const& of_thread = host.threads[r][thread];
      if (of_thread.empty()) continue;
      steps.push_back(
          {model::TrackId{thread},
           {of_thread[static_cast<size_t>(first)].when.begin - offset, of_thread[static_cast<size_t>(last)].when.end - offset}});
    }
    model::Trace const& trace = run.ranks[r].trace;
    part.ranks.push_back({model::slice(trace, model::window_of_steps(trace, steps)), offset, run.ranks[r].file});
  }
  return part;
}

void expect_same_times(TimeSplit const& a, TimeSplit const& b) {
  EXPECT_EQ(a.window_ns, b.window_ns);
  EXPECT_EQ(a.busy_ns, b.busy_ns);
  EXPECT_EQ(a.compute_ns, b.compute_ns);
  EXPECT_EQ(a.exposed_comm_ns, b.exposed_comm_ns);
  EXPECT_EQ(a.exposed_copy_ns, b.exposed_copy_ns);
  EXPECT_EQ(a.exposed_wait_ns, b.exposed_wait_ns);
  EXPECT_EQ(a.idle_by_cause, b.idle_by_cause);
}

void expect_same_analysis(Analysis const& whole, Analysis const& part) {
  ASSERT_EQ(whole.steps.size(), part.steps.size());
  for (size_t i = 0; i < whole.steps.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "device " << whole.steps[i].ref.device << " step " << whole.steps[i].step);
    EXPECT_EQ(whole.steps[i].step, part.steps[i].step);
    EXPECT_EQ(whole.steps[i].window, part.steps[i].window);
    expect_same_times(whole.steps[i].time, part.steps[i].time);
  }
  ASSERT_EQ(whole.devices.size(), part.devices.size());
  for (size_t i = 0; i < whole.devices.size(); ++i) {
    expect_same_times(whole.devices[i].time, part.devices[i].time);
    EXPECT_EQ(whole.devices[i].kernels, part.devices[i].kernels);
    EXPECT_EQ(whole.devices[i].copies, part.devices[i].copies);
    EXPECT_EQ(whole.devices[i].launches, part.devices[i].launches);
  }
  EXPECT_EQ(whole.collectives.size(), part.collectives.size());
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
    AnalyzeOptions steps;
    steps.steps = {5, 7};
    model::Run const part = slice_of_steps(run, 5, 7);
    for (size_t r = 0; r < run.ranks.size(); ++r)
      EXPECT_LT(part.ranks[r].trace.event_count(), run.ranks[r].trace.event_count() * 3 / 4);
    expect_same_analysis(analyze(run, steps), analyze(part, steps));
  }
};

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
  expect_slice_agrees(slow);
}

INSTANTIATE_TEST_SUITE_P(Analyzer, SlicedRun, testing::Combine(testing::Bool(), testing::Bool()), [](auto const& made) {
  return std::string(std::get<0>(made.param) ? "synchronized" : "ahead") + (std::get<1>(made.param) ? "_processes" : "_threads");
});

}  // namespace
}  // namespace stepscope::analyzer
