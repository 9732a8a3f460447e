// Two threads that launch for one device: replicas that share a GPU take one step together, the
// threads of a server do not.
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::analyzer {
namespace {

using namespace model;

/// Each thread has 10 steps of 1000 ns; those of the second begin `delay` + `drift` × step later.
Analysis analyze_two_threads(int64_t delay, int64_t drift) {
  TraceBuilder builder;
  uint64_t correlation = 0;
  for (int64_t const number : {0, 1}) {
    TrackId const thread =
        builder.add_track({TrackKind::kThread, "replica", number, -1, StreamKind::kCompute, 0});
    TrackId const stream =
        builder.add_track({TrackKind::kStream, "stream", number, 0, StreamKind::kCompute, 0});

    for (int64_t step = 0; step < 10; ++step) {
      int64_t const begin = step * 1000 + number * (delay + drift * step);
      builder.events(thread).add(EventKind::kStep, begin, 990, builder.intern("step"), 0,
                                 StepDetail{step});
      builder.events(thread).add(EventKind::kLaunch, begin + 10, 5, builder.intern("launch"),
                                 ++correlation);
      builder.events(stream).add(EventKind::kKernel, begin + 50, 900, builder.intern("kernel"),
                                 correlation, KernelDetail{});
    }
  }

  model::Run run;
  run.ranks.push_back({std::move(builder).finish(), 0, ""});
  return analyze(run);
}

TEST(SharedSteps, ReplicasOnOneDeviceTakeAStepTogether) {
  Analysis const analysis = analyze_two_threads(300, 0);
  ASSERT_EQ(analysis.steps.size(), 10U);
  for (size_t i = 0; i < 10; ++i) EXPECT_EQ(analysis.steps[i].step, static_cast<int64_t>(i));

  StepStats const& step = analysis.steps[4];
  EXPECT_EQ(step.host_window, (Interval{4000, 5290}));
  EXPECT_EQ(step.window, (Interval{4250, 5250})) << "from the end of step 3 to the last kernel's";
  EXPECT_EQ(step.time.compute_ns, 1000);
  EXPECT_EQ(analysis.ops_outside_steps, 0U);
}

TEST(SharedSteps, ThreadsThatDriftApartShareNone) {
  Analysis const analysis = analyze_two_threads(300, 500);
  EXPECT_EQ(analysis.steps.size(), 20U);
}

}  // namespace
}  // namespace stepscope::analyzer
