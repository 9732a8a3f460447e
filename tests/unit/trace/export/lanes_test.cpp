// Slices on lanes, compared with what every reader of begins and ends does: a stack a lane.
#include "trace/export/lanes.h"

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepscope::exporting {
namespace {

struct LaneSlice {
  int64_t start, end;
  friend auto operator<=>(LaneSlice const&, LaneSlice const&) = default;
};

/// What a reader makes of the begins and ends: the innermost open slice of a lane ends.
std::vector<LaneSlice> as_read(std::vector<LaneSlice> slices, uint32_t* lanes_used = nullptr) {
  std::sort(slices.begin(), slices.end(), [](LaneSlice const& a, LaneSlice const& b) {
    return std::pair(a.start, -a.end) < std::pair(b.start, -b.end);
  });

  std::map<uint32_t, std::vector<int64_t>> open;
  std::map<uint32_t, int64_t> last;
  std::vector<LaneSlice> read;

  auto const at = [&](uint32_t lane, int64_t time) {
    auto const [place, is_new] = last.try_emplace(lane, time);
    EXPECT_LE(place->second, time);
    place->second = time;
  };
  auto const ended = [&](uint32_t lane, int64_t time) {
    at(lane, time);
    ASSERT_FALSE(open[lane].empty());
    read.push_back({open[lane].back(), time});
    open[lane].pop_back();
  };

  Lanes lanes;
  for (LaneSlice const& slice : slices) {
    uint32_t const lane = lanes.open(slice.start, slice.end, ended);
    at(lane, slice.start);
    open[lane].push_back(slice.start);
    if (lanes_used != nullptr) *lanes_used = std::max(*lanes_used, lane + 1);
  }

  lanes.close_all(ended);
  for (auto const& [lane, starts] : open) EXPECT_TRUE(starts.empty()) << lane;

  std::sort(read.begin(), read.end());
  std::sort(slices.begin(), slices.end());
  EXPECT_EQ(read.size(), slices.size());
  return read;
}

uint32_t lanes_of(std::vector<LaneSlice> const& slices) {
  uint32_t lanes = 0;
  std::vector<LaneSlice> sorted = slices;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(as_read(slices, &lanes), sorted);
  return lanes;
}

TEST(Lanes, WhatNestsOrTouchesIsOnOne) {
  EXPECT_EQ(lanes_of({{0, 10}, {10, 20}, {20, 20}, {20, 30}}), 1U);
  EXPECT_EQ(lanes_of({{0, 10}, {0, 10}, {0, 5}, {5, 10}, {10, 10}}), 1U);
  EXPECT_EQ(lanes_of({{7, 7}, {7, 7}, {7, 8}}), 1U);
}

TEST(Lanes, AnEndWithinAnotherSliceNeedsASecond) {
  EXPECT_EQ(lanes_of({{0, 10}, {5, 15}}), 2U);
  EXPECT_EQ(lanes_of({{0, 10}, {5, 15}, {10, 12}, {15, 16}}), 2U);
}

TEST(Lanes, ManyThatAllOverlapHaveALaneEachAndFreeOnesAreUsedAgain) {
  std::vector<LaneSlice> slices;
  for (int64_t i = 0; i < 200; ++i) slices.push_back({i, 1000 + i});
  EXPECT_EQ(lanes_of(slices), 200U);
  for (int64_t i = 0; i < 200; ++i) slices.push_back({5000 + i, 6000 + i});
  EXPECT_EQ(lanes_of(slices), 200U);
}

TEST(Lanes, AnySlicesAreReadBackAsTheyWere) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    std::uniform_int_distribution<int64_t> start(0, 60), length(0, round % 40);
    std::vector<LaneSlice> slices;
    for (int i = 0; i < 120; ++i) {
      int64_t const begin = start(random);
      slices.push_back({begin, begin + length(random)});
    }

    lanes_of(slices);
  }
}

}  // namespace
}  // namespace stepscope::exporting
