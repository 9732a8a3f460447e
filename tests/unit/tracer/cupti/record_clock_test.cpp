#include "tracer/cupti/record_clock.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace stepscope::tracer {
namespace {

constexpr int64_t kTraceBegins = 7'000'000'000;
constexpr int64_t kEpoch = 1'700'000'000'000'000'000;
constexpr int64_t kMillisecond = 1'000'000, kSecond = 1'000'000'000;

uint64_t as_record_time(int64_t time) { return static_cast<uint64_t>(time); }

/// A clock other than CLOCK_MONOTONIC: it drifts, and can be set.
struct OtherClock {
  double drift = 0;
  int64_t offset = kEpoch;
  [[nodiscard]] int64_t at(int64_t monotonic) const {
    return monotonic + offset + static_cast<int64_t>(drift * static_cast<double>(monotonic));
  }
  [[nodiscard]] ClockSample sample(int64_t monotonic) const { return {at(monotonic), monotonic}; }
};

TEST(RecordClock, subtracts_where_cupti_uses_ours) {
  RecordClock clock(kTraceBegins);
  clock.add({1, 1});  // has no effect on this clock
  EXPECT_EQ(clock.to_trace_ns(as_record_time(kTraceBegins + 5)), 5);
  EXPECT_EQ(clock.to_trace_ns(as_record_time(kTraceBegins - 5)), -5);
}

TEST(RecordClock, follows_a_clock_that_drifts) {
  OtherClock const other{5e-5};
  int64_t now = kTraceBegins + kSecond;
  RecordClock clock(kTraceBegins, other.sample(now));

  for (int round = 0; round < 600; ++round) {
    now += 100 * kMillisecond;
    clock.add(other.sample(now));
    for (int64_t const ago :
         {int64_t{0}, 3 * kMillisecond, 99 * kMillisecond, 250 * kMillisecond}) {
      int64_t const time = std::max(now - ago, kTraceBegins + kSecond);
      EXPECT_LE(std::abs(clock.to_trace_ns(as_record_time(other.at(time))) - (time - kTraceBegins)),
                2)
          << round << " " << ago;
    }
  }
}

/// All lines between all pairs of an era, looked through from the first to the last.
double naive_trace_ns(std::vector<ClockSample> const& samples, int64_t ticks) {
  size_t line = 0;
  while (line + 2 < samples.size() && ticks >= samples[line + 1].ticks) ++line;
  ClockSample const& a = samples[line];
  ClockSample const& b = samples[line + 1];
  double const slope =
      static_cast<double>(b.monotonic_ns - a.monotonic_ns) / static_cast<double>(b.ticks - a.ticks);
  return static_cast<double>(a.monotonic_ns - kTraceBegins) +
         slope * static_cast<double>(ticks - a.ticks);
}

TEST(RecordClock, agrees_with_its_naive_twin_whatever_the_noise_of_the_samples) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int64_t> noise(-300, 300),
      step(55 * kMillisecond, 130 * kMillisecond);
  std::vector<ClockSample> samples;
  int64_t now = kTraceBegins + kSecond;
  OtherClock const other{-2e-5};

  for (int i = 0; i < 200; ++i, now += step(random)) {
    samples.push_back(other.sample(now));
    samples.back().monotonic_ns += noise(random);
  }

  RecordClock clock(kTraceBegins, samples[0]);
  for (ClockSample const& sample : samples) clock.add(sample);

  std::uniform_int_distribution<int64_t> times(samples.front().ticks, samples.back().ticks);
  for (int i = 0; i < 2000; ++i) {
    int64_t const ticks = times(random);
    EXPECT_NEAR(static_cast<double>(clock.to_trace_ns(as_record_time(ticks))),
                naive_trace_ns(samples, ticks), 2);
  }
}

TEST(RecordClock, survives_a_clock_that_is_set_forward_and_back) {
  for (int64_t const jump :
       {3600 * kSecond, -3600 * kSecond, 20 * kMillisecond, -20 * kMillisecond}) {
    OtherClock other;
    int64_t now = kTraceBegins + kSecond;
    RecordClock clock(kTraceBegins, other.sample(now));
    clock.add(other.sample(now += 100 * kMillisecond));
    uint64_t const before = as_record_time(other.at(now - 50 * kMillisecond));
    int64_t const before_ns = now - 50 * kMillisecond - kTraceBegins;

    other.offset += jump;
    clock.add(other.sample(now += 5 * kMillisecond));
    clock.add(other.sample(now += 100 * kMillisecond));
    uint64_t const after = as_record_time(other.at(now - 50 * kMillisecond));

    EXPECT_LE(std::abs(clock.to_trace_ns(after) - (now - 50 * kMillisecond - kTraceBegins)), 2)
        << jump;
    EXPECT_LE(std::abs(clock.to_trace_ns(before) - before_ns), 2) << jump;
  }
}

TEST(RecordClock, makes_no_possible_time_of_one_from_elsewhere) {
  OtherClock const other;
  int64_t const now = kTraceBegins + kSecond;
  RecordClock clock(kTraceBegins, other.sample(now));
  clock.add(other.sample(now + 100 * kMillisecond));
  clock.set_now(kSecond + 100 * kMillisecond);

  for (uint64_t const time :
       {uint64_t{0}, uint64_t{1}, as_record_time(now),
        as_record_time(other.at(now) + 3600 * kSecond), uint64_t{INT64_MAX}, UINT64_MAX}) {
    int64_t const at = clock.to_trace_ns(time);
    EXPECT_FALSE(clock.is_possible(at, at)) << time;
  }

  int64_t const good = clock.to_trace_ns(as_record_time(other.at(now)));
  EXPECT_TRUE(clock.is_possible(good, good));
  EXPECT_FALSE(clock.is_possible(good, good - 1));
}

}  // namespace
}  // namespace stepscope::tracer
