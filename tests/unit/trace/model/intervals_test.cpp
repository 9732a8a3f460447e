// Interval algebra against a twin that keeps one bit per ns.
#include "trace/model/intervals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <random>

namespace stepscope::model {
namespace {

constexpr size_t kWorld = 96;
using Bits = std::bitset<kWorld>;

std::vector<Interval> random_intervals(std::mt19937& random) {
  std::vector<Interval> result(random() % 9);
  for (Interval& interval : result) {
    auto const begin = static_cast<int64_t>(random() % kWorld);
    interval = {begin,
                begin + static_cast<int64_t>(random() % (kWorld - static_cast<size_t>(begin)))};
  }
  return result;
}

Bits bits(std::vector<Interval> const& intervals) {
  Bits result;
  for (Interval const& interval : intervals)
    for (int64_t ns = interval.begin; ns < interval.end; ++ns) result.set(static_cast<size_t>(ns));
  return result;
}

/// The normal form that IntervalSet promises.
void expect_normal(IntervalSet const& set) {
  for (size_t i = 0; i < set.size(); ++i) {
    EXPECT_LT(set[i].begin, set[i].end);
    if (i > 0) {
      EXPECT_LT(set[i - 1].end, set[i].begin);
    }
  }
}

TEST(Intervals, AgreeWithABitPerNanosecond) {
  std::mt19937 random(7);
  for (int i = 0; i < 5000; ++i) {
    std::vector<Interval> const raw_a = random_intervals(random), raw_b = random_intervals(random);
    IntervalSet const a = unite(raw_a), b = unite(raw_b);
    Bits const bits_a = bits(raw_a), bits_b = bits(raw_b);

    for (auto const& [set, expected] : {std::pair{a, bits_a},
                                        {unite(a, b), bits_a | bits_b},
                                        {intersect(a, b), bits_a & bits_b},
                                        {subtract(a, b), bits_a & ~bits_b}}) {
      expect_normal(set);
      ASSERT_EQ(bits(set), expected);
      ASSERT_EQ(measure(set), static_cast<int64_t>(expected.count()));
    }

    auto const begin = static_cast<int64_t>(random() % kWorld);
    Interval const window{
        begin, begin + static_cast<int64_t>(random() % (kWorld - static_cast<size_t>(begin)))};
    expect_normal(clip(a, window));
    ASSERT_EQ(bits(clip(a, window)), bits_a & bits({window}));
  }
}

/// As the set algebra says it, an interval of `b` at a time.
IntervalSet subtract_one_by_one(IntervalSet set, IntervalSet const& b) {
  for (Interval const& cut : b) {
    IntervalSet left;
    for (Interval const& i : set) {
      if (i.begin < std::min(i.end, cut.begin))
        left.push_back({i.begin, std::min(i.end, cut.begin)});
      if (std::max(i.begin, cut.end) < i.end) left.push_back({std::max(i.begin, cut.end), i.end});
    }
    set = std::move(left);
  }

  return set;
}

TEST(Intervals, FewAreSubtractedFromManyAndManyFromFew) {
  std::mt19937 random(11);
  auto const some = [&](size_t count, int64_t apart) {
    IntervalSet set;
    int64_t at = 0;
    for (size_t i = 0; i < count; ++i) {
      at += 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(apart));
      set.push_back({at, at + 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(apart))});
      at = set.back().end;
    }
    return set;
  };

  for (int i = 0; i < 200; ++i) {
    IntervalSet const few = some(random() % 6, 400), many = some(random() % 600, 3);
    ASSERT_EQ(subtract(few, many), subtract_one_by_one(few, many));
    ASSERT_EQ(subtract(many, few), subtract_one_by_one(many, few));
  }
}

TEST(Intervals, TouchingOnesBecomeOne) {
  EXPECT_EQ(unite({{5, 8}, {0, 5}}), (IntervalSet{{0, 8}}));
}

TEST(Intervals, EmptyOnesVanish) { EXPECT_TRUE(unite({{5, 5}, {0, 0}}).empty()); }

TEST(Intervals, OrderOfInputDoesNotMatter) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    std::vector<Interval> intervals = random_intervals(random);
    IntervalSet const expected = unite(intervals);
    std::shuffle(intervals.begin(), intervals.end(), random);
    EXPECT_EQ(unite(intervals), expected);
  }
}

}  // namespace
}  // namespace stepscope::model
