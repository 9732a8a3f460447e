// Which conclusions faults weaken: each fault is reported with its share, and nothing about a
// recording that has none.
#include "reports/words/trace_integrity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/metrics/telemetry/trace_integrity.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::reports {
namespace {

using ::testing::HasSubstr;

model::Run run_of(model::ImportLog const& log, int32_t world = 1) {
  model::TraceBuilder builder;
  builder.info().world_size = world;
  model::TrackId const thread = builder.add_track({});
  for (int64_t i = 0; i < 100; ++i) builder.events(thread).add_range(i, 1, builder.intern("x"));
  builder.log() = log;
  model::Run run;
  run.ranks.push_back({std::move(builder).finish(), 0, ""});
  return run;
}

TEST(Trust, NothingWeakensARecordingWithoutFaults) {
  model::Run const run = run_of({});
  EXPECT_TRUE(weaknesses(run, analyzer::judge_trace_integrity(run)).empty());
}

TEST(Trust, EachFaultIsToldWithWhatItWeakensAndWhatHolds) {
  model::Run const run = run_of({.dropped = 5, .negative_latencies = 20, .truncated = true}, 4);
  auto const found = weaknesses(run, analyzer::judge_trace_integrity(run));
  ASSERT_EQ(found.size(), 4U);
  EXPECT_THAT(found[0].fault, HasSubstr("5 events lost (5.0 % of all events)"));
  EXPECT_THAT(found[1].fault, HasSubstr("20 device ops that begin before their launch"));
  EXPECT_THAT(found[1].weakens, HasSubstr("clocks of host and device"));
  EXPECT_THAT(found[2].fault, HasSubstr("1 trace that was cut off"));
  EXPECT_THAT(found[3].fault, HasSubstr("3 ranks of the job not in the run"));
  for (Weakness const& weakness : found) EXPECT_FALSE(weakness.holds.empty());
}

TEST(Trust, OfATraceWithoutEventsNothingFollows) {
  model::Run run = run_of({});
  run.ranks.push_back({model::TraceBuilder().finish(), 0, ""});
  auto const found = weaknesses(run, analyzer::judge_trace_integrity(run));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].fault, "1 trace without events");
}

}  // namespace
}  // namespace stepscope::reports
