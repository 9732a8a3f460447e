// A timeline returns all points that were put in; its naive twin is a vector.
#include "analyzer/results/memory_timeline.h"

#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace stepscope::analyzer {
namespace {

/// Points as allocators make them, and now and then points that no allocator makes.
std::vector<MemoryPoint> random_points(std::mt19937_64& random, size_t count) {
  std::vector<MemoryPoint> points;
  MemoryPoint point{1'000'000'000'000, 0, 0, {}};
  for (size_t i = 0; i < count; ++i) {
    point.time_ns += static_cast<int64_t>(random() % 100'000);
    uint64_t const bytes = 512 * (random() % 10'000);
    point.allocated_bytes +=
        random() % 2 == 0 ? bytes : 0 - bytes;  // may wrap, as totals of damaged sources do
    point.by_purpose[random() % point.by_purpose.size()] += bytes;

    if (random() % 16 == 0) point.reserved_bytes = random();
    if (random() % 64 == 0) point.allocated_bytes = std::numeric_limits<uint64_t>::max();
    if (random() % 64 == 0) point.by_purpose.fill(random());
    points.push_back(point);
  }
  return points;
}

TEST(MemoryTimeline, GivesBackEveryPointThatWasPutIn) {
  std::mt19937_64 random(7);
  for (size_t const count : {0U, 1U, 2U, 15U, 16U, 17U, 32U, 1000U}) {
    std::vector<MemoryPoint> const points = random_points(random, count);
    MemoryTimeline const timeline(points);

    ASSERT_EQ(timeline.size(), count);
    EXPECT_EQ(timeline.empty(), count == 0);
    EXPECT_EQ(timeline.points(), points);

    size_t place = 0;
    for (MemoryPoint const point : timeline) EXPECT_EQ(point, points[place++]);
    EXPECT_EQ(place, count);
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(timeline[i], points[i]) << i;

    if (count == 0) continue;
    EXPECT_EQ(timeline.front(), points.front());
    EXPECT_EQ(timeline.back(), points.back());
  }
}

TEST(MemoryTimeline, GrowsPointByPoint) {
  std::mt19937_64 random(8);
  std::vector<MemoryPoint> const points = random_points(random, 100);
  MemoryTimeline timeline;
  for (size_t i = 0; i < points.size(); ++i) {
    timeline.push_back(points[i]);
    EXPECT_EQ(timeline.back(), points[i]);
  }
  EXPECT_EQ(timeline.points(), points);
}

TEST(MemoryTimeline, KeepsTimesAtTheEndsOfAllTime) {
  constexpr int64_t kFirst = std::numeric_limits<int64_t>::min(),
                    kLast = std::numeric_limits<int64_t>::max();
  MemoryTimeline const timeline = {{kFirst, 1, 2, {}}, {kLast, 3, 2, {}}, {kFirst, 0, 0, {}}};
  EXPECT_EQ(timeline[0].time_ns, kFirst);
  EXPECT_EQ(timeline[1].time_ns, kLast);
  EXPECT_EQ(timeline[2], (MemoryPoint{kFirst, 0, 0, {}}));
}

TEST(MemoryTimeline, CountsWhatAnInstantHasPassed) {
  std::mt19937_64 random(9);
  for (size_t const count : {0U, 1U, 16U, 17U, 100U}) {
    std::vector<MemoryPoint> points = random_points(random, count);
    for (MemoryPoint& point : points) point.time_ns /= 70'000;  // some at the same time
    MemoryTimeline const timeline(points);

    int64_t const first = points.empty() ? 0 : points.front().time_ns,
                  last = points.empty() ? 0 : points.back().time_ns;
    for (int64_t instant = first - 1; instant <= last + 1; ++instant) {
      size_t expected = 0;
      while (expected < points.size() && points[expected].time_ns <= instant) ++expected;
      EXPECT_EQ(timeline.count_passed([&](int64_t at) { return at <= instant; }), expected);
    }
  }
}

}  // namespace
}  // namespace stepscope::analyzer
