// A packed trace is the trace that was packed, also what our file format has no place for.
#include "trace/import/open/spilled_source.h"

#include <gtest/gtest.h>

#include "trace/model/build/trace_builder.h"

namespace stepscope::import {
namespace {

using model::EventKind;

/// A thread launches two kernels at one time and reports a collective call: merged twice, the call
/// would take both kernels.
model::Trace with_launches_at_one_time() {
  model::TraceBuilder builder;
  builder.info().host = "h\xFFst";
  builder.log().truncated = true;
  builder.log().impossible_times = 3;

  auto const thread = builder.add_track({.kind = model::TrackKind::kThread, .name = "main \xFF"});
  auto const stream =
      builder.add_track({.kind = model::TrackKind::kStream, .name = "stream", .device = 0});
  auto const name = builder.intern("op");

  auto& calls = builder.events(thread);
  calls.add(EventKind::kLaunch, 1000, 5, name, 1);
  calls.add(EventKind::kLaunch, 1000, 10, name, 2);
  calls.add(EventKind::kCollectiveCall, 1020, 0, name, 0, model::CollectiveDetail{});
  auto& ops = builder.events(stream);
  ops.add(EventKind::kKernel, 1100, 50, name, 1, model::KernelDetail{});
  ops.add(EventKind::kKernel, 1200, 50, name, 2, model::KernelDetail{});

  return std::move(builder).finish();
}

TEST(PackedSource, IsTheTraceThatWasPacked) {
  model::Trace const expected = with_launches_at_one_time();
  TraceSource source = packed(TraceSource(with_launches_at_one_time()));
  ASSERT_FALSE(source.is_in_memory());
  EXPECT_EQ(source.info().host, expected.info().host);
  EXPECT_EQ(source.tracks()[0].name, expected.tracks()[0].name);
  EXPECT_TRUE(source.log().truncated);

  auto const read = std::move(source).load();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->info().host, expected.info().host);
  EXPECT_EQ(read->tracks()[0].name, expected.tracks()[0].name);
  EXPECT_TRUE(read->log().truncated);
  EXPECT_EQ(read->log().impossible_times, expected.log().impossible_times);
  EXPECT_EQ(read->columns().kind, expected.columns().kind);
  EXPECT_EQ(read->columns().link, expected.columns().link);
}

}  // namespace
}  // namespace stepscope::import
