// Correcting a clock's drift: instants keep their order, what touches still touches, and nothing
// else changes.
#include "trace/model/derive/clock_drift.h"

#include <random>

#include <gtest/gtest.h>

#include "trace/model/build/trace_builder.h"

namespace stepscope::model {
namespace {

TEST(ClockDrift, StretchesTimeAroundItsPivot) {
  ClockDrift const drift{1e-4, 1'000'000};
  EXPECT_EQ(drift.corrected(1'000'000), 1'000'000);
  EXPECT_EQ(drift.corrected(2'000'000), 2'000'100);
  EXPECT_EQ(drift.corrected(0), -100);
}

TEST(ClockDrift, NeverGoesBackwardsAndIsUndone) {
  std::mt19937_64 random(1);
  for (double const rate : {-9e-3, -1e-6, 3e-5, 9e-3}) {
    ClockDrift const drift{rate, 12'345};

    for (int i = 0; i < 20'000; ++i) {
      auto const instant = static_cast<int64_t>(random() % 2'000'000'000'000) - 1'000'000'000'000;
      ASSERT_LE(drift.corrected(instant), drift.corrected(instant + 1));
      ASSERT_NEAR(static_cast<double>(drift.recorded(drift.corrected(instant)) - instant), 0, 2)
          << instant;
    }
  }
}

TEST(ClockDrift, OfATraceMapsStartsAndEndsAndKeepsTheRest) {
  TraceBuilder builder;
  builder.info().rank = 3;
  builder.add_device({.id = 0, .name = "GPU"});
  TrackId const thread = builder.add_track({.name = "main", .id = 1});
  TrackId const stream =
      builder.add_track({TrackKind::kStream, "7", 7, 0, StreamKind::kCompute, 2});
  StringId const name = builder.intern("k");

  for (int64_t i = 0; i < 1000; ++i) {
    builder.events(thread).add(EventKind::kLaunch, i * 1000, 3, builder.intern("cudaLaunchKernel"),
                               static_cast<uint64_t>(i + 1));
    builder.events(stream).add(EventKind::kKernel, i * 1000 + 3, 997 + 3, name,
                               static_cast<uint64_t>(i + 1), KernelDetail{.grid_x = 9});
  }
  Trace const trace = std::move(builder).finish();

  ClockDrift const drift{-2e-3, 0};
  Trace const corrected = correct_drift(trace, drift);
  ASSERT_EQ(corrected.event_count(), trace.event_count());
  EXPECT_EQ(corrected.info().rank, 3);
  EXPECT_EQ(corrected.log().dropped, trace.log().dropped);
  EXPECT_EQ(corrected.log().unmatched_launches, 0U);

  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    ASSERT_EQ(corrected.start(row), drift.corrected(trace.start(row)));
    ASSERT_EQ(corrected.end(row), drift.corrected(trace.end(row)));
    ASSERT_EQ(corrected.name(row), trace.name(row));
    ASSERT_EQ(corrected.columns().link[row].value, trace.columns().link[row].value);
    if (trace.kind(row) == EventKind::kKernel) {
      ASSERT_EQ(corrected.detail<KernelDetail>(row).grid_x, 9U);
      if (row + 1 < trace.event_count()) {
        ASSERT_EQ(corrected.end(row), corrected.start(row + 1)) << "what touched still touches";
      }
    }
  }
}

}  // namespace
}  // namespace stepscope::model
