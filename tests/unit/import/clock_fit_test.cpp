// Clocks whose errors are known, and what is found of them from collectives that end within a few µs on all participants.
#include "trace/import/clock_fit.h"

#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace stepscope::import {
namespace {

/// What a clock shows at a time.
struct WrongClock {
  int64_t ahead_ns = 0;
  double fast = 0;  ///< per ns
  [[nodiscard]] int64_t operator()(int64_t truth) const {
    return truth + ahead_ns + std::llround(fast * static_cast<double>(truth));
  }
};

class Cluster {
 public:
  Cluster(std::vector<WrongClock> clocks, uint32_t seed) : clocks_(std::move(clocks)), random_(seed) {}

  /// `between`: of two collectives; every end up to `scatter_ns` late.
  void meet(std::vector<uint32_t> const& participants, int64_t between, int64_t scatter_ns) {
    now_ += between;
    for (uint32_t const clock : participants)
      ends_.push_back(
          {next_, clock, clocks_[clock](now_ + static_cast<int64_t>(random_() % static_cast<uint64_t>(scatter_ns + 1)))});
    ++next_;
  }
  void meet_all(int times, int64_t between, int64_t scatter_ns) {
    std::vector<uint32_t> all;
    for (uint32_t clock = 0; clock < clocks_.size(); ++clock) all.push_back(clock);
    for (int i = 0; i < times; ++i) meet(all, between, scatter_ns);
  }
  [[nodiscard]] std::vector<ClockCorrection> fit() const { return fit_clocks(static_cast<uint32_t>(clocks_.size()), ends_); }

  /// The most by which a corrected clock differs from the first one's time, over the time in which there were collectives.
  [[nodiscard]] int64_t worst_error(std::vector<ClockCorrection> const& found) const {
    int64_t worst = 0;
    for (size_t clock = 0; clock < clocks_.size(); ++clock)
      for (int64_t const truth : {now_ / 10, now_ / 2, now_})
        worst = std::max(worst, std::abs(found[clock](clocks_[clock](truth)) - clocks_[0](truth)));
    return worst;
  }
  std::vector<CollectiveEnd>& ends() { return ends_; }

 private:
  std::vector<WrongClock> clocks_;
  std::mt19937_64 random_;
  int64_t now_ = 0;
  uint32_t next_ = 0;
  std::vector<CollectiveEnd> ends_;
};

TEST(ClockFit, FindsOffsetsOfSecondsToWithinTheScatterOfTheEnds) {
  Cluster cluster({{0}, {3'000'000'000}, {-70'000}, {1}}, 1);
  cluster.meet_all(50, 1'000'000, 4000);
  auto const found = cluster.fit();
  EXPECT_LT(cluster.worst_error(found), 2000);
  EXPECT_EQ(found[0].offset_ns, 0) << "the first stays as it is";
  EXPECT_TRUE(found[1].drift.is_none()) << "there is none";
  auto const rest = residuals(found, cluster.ends());
  ASSERT_TRUE(rest);
  EXPECT_LT(rest->p95_ns, 4000);
  EXPECT_EQ(rest->collectives, 50U);
}

TEST(ClockFit, FindsDriftsOfPartsInAMillion) {
  // 10 s, in which 20 ppm are 200 µs.
  Cluster cluster({{0}, {5'000'000, 20e-6}, {-400, -8e-6}}, 2);
  cluster.meet_all(1000, 10'000'000, 7000);
  auto const found = cluster.fit();
  EXPECT_NEAR(found[1].drift.rate, -20e-6, 1e-6);
  EXPECT_NEAR(found[2].drift.rate, 8e-6, 1e-6);
  EXPECT_LT(cluster.worst_error(found), 3000);
}

TEST(ClockFit, TakesNoDriftFromChance) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    Cluster cluster({{0}, {12'345}, {99'999}}, seed);
    cluster.meet_all(8, 3'000'000, 7000);
    for (ClockCorrection const& clock : cluster.fit()) ASSERT_TRUE(clock.drift.is_none()) << seed;
  }
}

TEST(ClockFit, IsNotMisledByAQuarterOfWrongEnds) {
  Cluster cluster({{0}, {800'000, 15e-6}, {-4'000'000}}, 3);
  cluster.meet_all(400, 20'000'000, 3000);
  std::mt19937 random(5);
  for (CollectiveEnd& end : cluster.ends())
    if (random() % 4 == 0) end.end_ns += random() % 2 == 0 ? 40'000'000 : 2'000'000'000;
  EXPECT_LT(cluster.worst_error(cluster.fit()), 60'000) << "a thousandth of what the wrong ones are off";
}

TEST(ClockFit, ReachesClocksThatShareNoCollectiveWithTheFirst) {
  // A pipeline: each rank meets its neighbours alone.
  std::vector<WrongClock> clocks;
  for (int64_t i = 0; i < 16; ++i) clocks.push_back({i * 1'000'000});
  Cluster cluster(clocks, 4);
  for (int round = 0; round < 60; ++round)
    for (uint32_t clock = 0; clock + 1 < 16; ++clock) cluster.meet({clock, clock + 1}, 50'000, 2000);
  auto const found = cluster.fit();
  EXPECT_LT(cluster.worst_error(found), 8000);
}

TEST(ClockFit, SaysWhichClocksNothingTiesToTheOthers) {
  Cluster cluster({{0}, {10}, {20}, {30}}, 5);
  cluster.meet({0, 1}, 1000, 0);
  cluster.meet({2}, 1000, 0);
  auto const found = cluster.fit();
  EXPECT_TRUE(found[0].is_fitted && found[1].is_fitted);
  EXPECT_FALSE(found[2].is_fitted || found[3].is_fitted);
  EXPECT_EQ(found[2].offset_ns, 0);
}

TEST(ClockFit, EachGroupThatCollectivesTieTogetherIsFittedForItself) {
  Cluster cluster({{0}, {5'000'000}, {0}, {7'000'000, 20e-6}}, 9);
  for (int i = 0; i < 200; ++i) {
    cluster.meet({0, 1}, 1'000'000, 2000);
    cluster.meet({2, 3}, 1'000'000, 2000);
  }
  auto const found = cluster.fit();
  EXPECT_LT(cluster.worst_error(found), 8000);
  EXPECT_EQ(found[0].group, 0U);
  EXPECT_EQ(found[1].group, 0U);
  EXPECT_EQ(found[2].group, 1U);
  EXPECT_EQ(found[3].group, 1U);
  auto const left = residuals(found, cluster.ends());
  ASSERT_TRUE(left);
  EXPECT_LE(left->p95_ns, 2000);
}

TEST(ClockFit, HasNothingToSayWithoutCommonCollectives) {
  Cluster cluster({{0}, {10}}, 6);
  cluster.meet({0}, 1000, 0);
  EXPECT_FALSE(cluster.fit()[1].is_fitted);
  EXPECT_FALSE(residuals(cluster.fit(), cluster.ends()));
  EXPECT_TRUE(fit_clocks(0, {}).empty());
}

TEST(ClockFit, TheFirstOfSeveralGroupsIsTheReference) {
  Cluster cluster({{0}, {5000}, {7000}}, 7);
  cluster.meet({1, 2}, 1000, 0);
  cluster.meet({1, 2}, 1000, 0);
  auto const found = cluster.fit();
  EXPECT_FALSE(found[0].is_fitted);
  EXPECT_EQ(found[1].offset_ns, 0);
  EXPECT_EQ(found[2].offset_ns, -2000);
}

TEST(ClockFit, SurvivesClocksThatAreDecadesApart) {
  std::vector<CollectiveEnd> ends;
  for (uint32_t i = 0; i < 40; ++i) {
    ends.push_back({i, 0, kMostInstant - 1 - i});
    ends.push_back({i, 1, -kMostInstant + 1 + i});
    ends.push_back({i, 2, i % 2 == 0 ? 5 : kMostInstant - 1});
  }
  auto const found = fit_clocks(3, ends);
  EXPECT_TRUE(found[1].is_fitted);
  EXPECT_TRUE(residuals(found, ends));
}

}  // namespace
}  // namespace stepscope::import
