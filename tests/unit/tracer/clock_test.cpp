#include "tracer/core/clock.h"

#include <random>

#include <gtest/gtest.h>

namespace stepscope::tracer {
namespace {

TEST(ClockFit, is_exact_at_samples_and_straight_between) {
  ClockFit fit({1000, 5000});
  fit.add({3000, 6000});
  fit.add({5000, 8000});
  EXPECT_EQ(fit.to_trace_ns(1000), 0);
  EXPECT_EQ(fit.to_trace_ns(2000), 500);
  EXPECT_EQ(fit.to_trace_ns(3000), 1000);
  EXPECT_EQ(fit.to_trace_ns(4000), 2000);
  EXPECT_EQ(fit.to_trace_ns(5000), 3000);
  EXPECT_EQ(fit.latest_ns(), 3000);
}

TEST(ClockFit, goes_on_with_the_last_slope_and_never_below_zero) {
  ClockFit fit({1000, 0});
  fit.add({3000, 1000});
  EXPECT_EQ(fit.to_trace_ns(5000), 2000);
  EXPECT_EQ(fit.to_trace_ns(0), 0);
}

TEST(ClockFit, ignores_samples_that_go_back) {
  ClockFit fit({1000, 0});
  fit.add({3000, 1000});
  fit.add({2000, 1500});
  fit.add({4000, 900});
  EXPECT_EQ(fit.latest_ns(), 1000);
  EXPECT_EQ(fit.to_trace_ns(2000), 500);
}

TEST(ClockFit, is_monotonic_under_noisy_samples_and_old_ticks) {
  std::mt19937_64 random(3);
  ClockFit fit({1'000'000, 0});
  int64_t ticks = 1'000'000, ns = 0;

  for (int i = 0; i < 5000; ++i) {  // more than the lines it keeps
    ticks += 13'000'000;
    ns += 5'000'000 + static_cast<int64_t>(random() % 200) - 100;
    fit.add({ticks, ns});
  }

  int64_t before = -1;
  for (int64_t t = ticks - 400'000'000; t < ticks + 20'000'000;
       t += 1 + static_cast<int64_t>(random() % 50'000)) {
    int64_t const now = fit.to_trace_ns(t);
    ASSERT_GE(now, before);
    before = now;
  }
}

// The clock is read before and after the ticks: however long this thread is put aside between, the
// fit lies between the two.
TEST(Clock, ticks_follow_the_monotonic_clock) {
  TickSource const source = choose_tick_source();
  ClockSample const origin = sample_clocks(source);
  ClockFit fit(origin);
  while (monotonic_ns() - origin.monotonic_ns < 20'000'000) {
  }
  fit.add(sample_clocks(source));

  int64_t const before = monotonic_ns() - origin.monotonic_ns;
  int64_t const ticks = read_ticks(source);
  int64_t const after = monotonic_ns() - origin.monotonic_ns;

  int64_t const tolerance = after / 50;
  EXPECT_GE(fit.to_trace_ns(ticks), before - tolerance);
  EXPECT_LE(fit.to_trace_ns(ticks), after + tolerance);
}

}  // namespace
}  // namespace stepscope::tracer
