// Clocks whose errors are known, and what is found of them from collectives that end within a few
// µs on all participants.
#include "trace/import/open/clock_fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

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
  Cluster(std::vector<WrongClock> clocks, uint32_t seed)
      : clocks_(std::move(clocks)), random_(seed) {}

  /// `between`: of two collectives; every end up to `scatter_ns` late.
  void meet(std::vector<uint32_t> const& participants, int64_t between, int64_t scatter_ns) {
    now_ += between;
    for (uint32_t const clock : participants)
      ends_.push_back(
          {next_, clock,
           clocks_[clock](
               now_ + static_cast<int64_t>(random_() % static_cast<uint64_t>(scatter_ns + 1)))});
    ++next_;
  }
  void meet_all(int times, int64_t between, int64_t scatter_ns) {
    std::vector<uint32_t> all;
    for (uint32_t clock = 0; clock < clocks_.size(); ++clock) all.push_back(clock);
    for (int i = 0; i < times; ++i) meet(all, between, scatter_ns);
  }
  [[nodiscard]] std::vector<ClockCorrection> fit() const {
    return fit_clocks(static_cast<uint32_t>(clocks_.size()), ends_);
  }

  /// The most by which a corrected clock differs from the first one's time, over the time in which
  /// there were collectives.
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
  EXPECT_LT(cluster.worst_error(cluster.fit()), 60'000)
      << "a thousandth of what the wrong ones are off";
}

TEST(ClockFit, ReachesClocksThatShareNoCollectiveWithTheFirst) {
  // A pipeline: each rank meets its neighbours alone.
  std::vector<WrongClock> clocks;
  for (int64_t i = 0; i < 16; ++i) clocks.push_back({i * 1'000'000});
  Cluster cluster(clocks, 4);
  for (int round = 0; round < 60; ++round)
    for (uint32_t clock = 0; clock + 1 < 16; ++clock)
      cluster.meet({clock, clock + 1}, 50'000, 2000);
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

/// The fit by its definition: every number from sorted lists, one clock after the other.
class NaiveFit {
 public:
  NaiveFit(uint32_t clocks, std::vector<CollectiveEnd> const& ends) : found_(clocks) {
    std::map<uint32_t, std::vector<CollectiveEnd>> by_number;
    for (CollectiveEnd const& end : ends) by_number[end.collective].push_back(end);
    for (auto const& numbered : by_number) {
      std::vector<CollectiveEnd> const& of = numbered.second;
      if (std::any_of(of.begin(), of.end(),
                      [&](auto const& end) { return end.clock != of.front().clock; }))
        joins_.push_back(of);
    }
  }
  std::vector<ClockCorrection> fit() {
    uint32_t group = 0;
    for (uint32_t reference = 0; reference < found_.size(); ++reference) {
      if (ties_of(reference, true).empty() || found_[reference].is_fitted) continue;
      found_[reference].is_fitted = true;
      found_[reference].group = group;

      std::set<uint32_t> tied;
      while (tie([&](uint32_t clock) { return !found_[clock].is_fitted; }, group, tied)) {
      }
      for (int i = 0; i < 2; ++i)
        tie([&](uint32_t clock) { return tied.contains(clock); }, group, tied);

      ++group;
    }

    return found_;
  }

 private:
  using Ties =
      std::vector<std::pair<int64_t, int64_t>>;  ///< when by the clock, how much ahead the truth is
  template <class Value>
  static Value sorted_at(std::vector<Value> values, size_t place) {
    std::sort(values.begin(), values.end());
    return values[place];
  }
  template <class Value>
  static Value lower_median(std::vector<Value> const& values) {
    return sorted_at(values, (values.size() - 1) / 2);
  }
  /// 0 where no clock of the collective is fitted.
  static int64_t middle_of_truths(std::vector<int64_t> truths) {
    if (truths.empty()) return 0;
    std::sort(truths.begin(), truths.end());
    size_t const half = truths.size() / 2;
    return truths.size() % 2 == 1 ? truths[half] : std::midpoint(truths[half - 1], truths[half]);
  }
  /// `any`: whatever the truth is.
  [[nodiscard]] Ties ties_of(uint32_t clock, bool any) const {
    Ties ties;
    for (auto const& join : joins_) {
      std::vector<int64_t> truths;
      for (CollectiveEnd const& end : join)
        if (found_[end.clock].is_fitted) truths.push_back(found_[end.clock](end.end_ns));
      if (truths.empty() && !any) continue;

      int64_t const truth = middle_of_truths(std::move(truths));
      for (CollectiveEnd const& end : join)
        if (end.clock == clock) ties.emplace_back(end.end_ns, truth - end.end_ns);
    }

    std::stable_sort(ties.begin(), ties.end(),
                     [](auto const& a, auto const& b) { return a.first < b.first; });
    return ties;
  }
  template <class IsWanted>
  bool tie(IsWanted is_wanted, uint32_t group, std::set<uint32_t>& tied) {
    std::vector<ClockCorrection> next = found_;
    bool any = false;

    for (uint32_t clock = 0; clock < found_.size(); ++clock) {
      if (!is_wanted(clock)) continue;
      Ties const ties = ties_of(clock, false);
      if (ties.empty()) continue;

      next[clock] = fit_one(ties);
      next[clock].group = group;
      tied.insert(clock);
      any = true;
    }

    found_ = next;
    return any;
  }
  static ClockCorrection fit_one(Ties const& ties) {
    auto const from = ties[ties.size() / 2];
    ClockCorrection result{.drift = {.pivot_ns = from.first}, .is_fitted = true};

    std::vector<std::pair<double, double>> points;
    size_t const parts = std::min<size_t>(32, ties.size());
    for (size_t part = 0; part < parts; ++part) {
      std::vector<double> at, ahead;
      for (size_t i = part * ties.size() / parts; i < (part + 1) * ties.size() / parts; ++i) {
        at.push_back(static_cast<double>(ties[i].first - from.first));
        ahead.push_back(static_cast<double>(ties[i].second - from.second));
      }
      points.emplace_back(lower_median(at), lower_median(ahead));
    }

    std::vector<double> slopes;
    for (size_t i = 0; i < points.size(); ++i)
      for (size_t j = i + 1; j < points.size(); ++j)
        if (points[j].first > points[i].first)
          slopes.push_back((points[j].second - points[i].second) /
                           (points[j].first - points[i].first));

    double const slope = slopes.empty() ? 0 : lower_median(slopes);
    if (parts >= 4 && std::fabs(slope) <= model::ClockDrift::kMostRate && is_sure(slope, ties))
      result.drift.rate = slope;

    std::vector<int64_t> offsets;
    for (auto const& [at, ahead] : ties) offsets.push_back(at + ahead - result.drift.corrected(at));
    result.offset_ns = lower_median(offsets);
    return result;
  }
  static bool is_sure(double slope, Ties const& ties) {
    auto const from = ties[ties.size() / 2];
    std::vector<double> around;
    for (auto const& [at, ahead] : ties)
      around.push_back(static_cast<double>(ahead - from.second) -
                       slope * static_cast<double>(at - from.first));

    double const middle = lower_median(around);
    for (double& each : around) each = std::fabs(each - middle);

    auto const count = static_cast<double>(ties.size());
    double const scatter = sorted_at(around, around.size() * 3 / 4) * (1 + 4 / count);
    double const effect =
        std::fabs(slope) * static_cast<double>(ties.back().first - ties.front().first);
    return effect >= 1000 && effect > 5 * scatter * std::sqrt(12.0 / count);
  }

  std::vector<ClockCorrection> found_;
  std::vector<std::vector<CollectiveEnd>> joins_;
};

TEST(ClockFit, AgreesWithATwinThatSortsEverything) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    std::vector<WrongClock> clocks;
    for (uint32_t i = 0; i < 2 + seed % 9; ++i)
      clocks.push_back({static_cast<int64_t>(random() % 10'000'000),
                        seed % 3 == 0 ? 0 : static_cast<double>(random() % 100) * 1e-6});

    Cluster cluster(clocks, seed);
    for (uint32_t i = 0; i < 20 + seed * 10; ++i) {
      // Several ends of one clock, some of them out of order, some alike; some clocks share no
      // collective.
      std::vector<uint32_t> participants;
      for (uint32_t clock = 0; clock < clocks.size(); ++clock)
        for (uint32_t times = random() % 4; times > 0; --times) participants.push_back(clock);
      cluster.meet(participants, 1000 * static_cast<int64_t>(random() % 100),
                   seed % 2 == 0 ? 3 : 5000);
    }

    auto const count = static_cast<uint32_t>(clocks.size());
    std::vector<ClockCorrection> const found = cluster.fit(),
                                       expected = NaiveFit(count, cluster.ends()).fit();

    for (uint32_t clock = 0; clock < count; ++clock) {
      EXPECT_EQ(
          std::tuple(found[clock].offset_ns, found[clock].drift.rate, found[clock].drift.pivot_ns),
          std::tuple(expected[clock].offset_ns, expected[clock].drift.rate,
                     expected[clock].drift.pivot_ns))
          << seed << ": " << clock;
      EXPECT_EQ(std::tuple(found[clock].is_fitted, found[clock].group),
                std::tuple(expected[clock].is_fitted, expected[clock].group));
    }
  }
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
