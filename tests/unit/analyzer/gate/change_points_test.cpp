// E-divisive change points compared with their definition written down plainly, false alarms on
// noise, and shifts that were put in.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "analyzer/gate/change_points.h"
#include "analyzer/gate/history.h"
#include "tests/unit/analyzer/gate/gate_samples.h"

namespace stepscope::analyzer {
namespace {

using gate_testing::noisy;
using Series = std::vector<double>;

double naive_mean_distance(Series const& values, size_t a_first, size_t a_last, size_t b_first,
                           size_t b_last) {
  double sum = 0, pairs = 0;
  for (size_t i = a_first; i < a_last; ++i)
    for (size_t j = b_first; j < b_last; ++j) {
      if (i == j) continue;
      sum += std::abs(values[i] - values[j]);
      ++pairs;
    }
  return sum / pairs;
}

double naive_q(Series const& values, size_t at, size_t end) {
  auto const m = static_cast<double>(at), n = static_cast<double>(end - at);
  return m * n / (m + n) *
         (2 * naive_mean_distance(values, 0, at, at, end) -
          naive_mean_distance(values, 0, at, 0, at) -
          naive_mean_distance(values, at, end, at, end));
}

TEST(ChangePoints, TheBestSplitIsThatOfTheDefinition) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    Series values(6 + random() % 20);
    // Few distinct values: ties, and whole sums that are equal in any order.
    for (double& value : values)
      value = static_cast<double>(random() % (round % 2 == 0 ? 4 : 1000));
    if (round % 3 == 0)
      for (size_t i = values.size() / 2; i < values.size(); ++i) values[i] += 500;

    auto const split = best_split(values);
    ASSERT_TRUE(split.has_value());

    double most = -1e300;
    for (size_t at = kFewestOfLevel; at + kFewestOfLevel <= values.size(); ++at)
      for (size_t end = at + kFewestOfLevel; end <= values.size(); ++end)
        most = std::max(most, naive_q(values, at, end));

    EXPECT_NEAR(split->q, most, 1e-9 * std::max(1.0, std::abs(most)));
    EXPECT_NEAR(naive_q(values, split->at, split->end), most, 1e-9 * std::max(1.0, std::abs(most)));
  }
}

TEST(ChangePoints, ShortSeriesHaveNone) {
  EXPECT_FALSE(best_split(Series{1, 2, 3, 4, 5}).has_value());
  EXPECT_TRUE(find_changes(Series{}).empty());
  EXPECT_TRUE(find_changes(Series{1, 1, 1, 9, 9, 9}).empty());  // one of twenty orders is no proof
  EXPECT_EQ(find_changes(Series{1, 1, 1, 1, 1, 9, 9, 9, 9, 9}).size(), 1U);
}

TEST(ChangePoints, AConstantSeriesHasNone) { EXPECT_TRUE(find_changes(Series(50, 3.0)).empty()); }

TEST(ChangePoints, NoiseHasNoneButInOneOfAHundred) {
  std::mt19937_64 random(1);
  int alarms = 0;
  constexpr int kSeries = 300;
  for (int i = 0; i < kSeries; ++i)
    alarms += find_changes(noisy(10e6, 1e5, 30, random)).empty() ? 0 : 1;
  EXPECT_LE(alarms, 9);  // 3 are expected, 10 and more seen in 1 of 900
}

TEST(ChangePoints, AShiftIsFoundWhereItWasPutIn) {
  std::mt19937_64 random(2);
  int exact = 0;
  constexpr int kSeries = 40;
  for (int i = 0; i < kSeries; ++i) {
    Series series = noisy(10e6, 1e5, 20, random);
    Series const after = noisy(10.5e6, 1e5, 12, random);
    series.insert(series.end(), after.begin(), after.end());

    auto const changes = find_changes(series);
    ASSERT_FALSE(changes.empty());
    exact += changes[0].at == 20 ? 1 : 0;
    EXPECT_LE(changes[0].p, kChangePointError);
  }

  EXPECT_GE(exact, 36);
}

TEST(ChangePoints, ALevelThatComesAndGoesHasTwo) {
  std::mt19937_64 random(3);
  Series series = noisy(10e6, 1e5, 20, random);
  for (double const value : noisy(11e6, 1e5, 8, random)) series.push_back(value);
  for (double const value : noisy(10e6, 1e5, 20, random)) series.push_back(value);
  auto const changes = find_changes(series);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].at, 20U);
  EXPECT_EQ(changes[1].at, 28U);
}

TEST(ChangePoints, TheAnswerIsTheSameEachTime) {
  Series const series = noisy(10e6, 1e5, 40, 9);
  auto const once = find_changes(series), again = find_changes(series);
  ASSERT_EQ(once.size(), again.size());
  for (size_t i = 0; i < once.size(); ++i) EXPECT_EQ(once[i].p, again[i].p);
}

HistoryPoint history_run(double step_ns, double input_ns, std::string const& label) {
  HistoryPoint point;
  point.label = label;
  point.step_ns = step_ns;
  point.parts_ns[static_cast<size_t>(StepPart::kCompute)] = step_ns - input_ns;
  point.parts_ns[static_cast<size_t>(idle_part(IdleCause::kInput))] = input_ns;
  return point;
}

TEST(History, NamesTheRunTheChangeAndThePart) {
  std::vector<HistoryPoint> points;
  std::mt19937_64 random(4);
  for (double const step : noisy(10e6, 5e4, 15, random))
    points.push_back(history_run(step, 1e6, "old"));
  for (double const step : noisy(10.6e6, 5e4, 10, random))
    points.push_back(history_run(step, 1.6e6, "new"));

  HistoryStats const facts = analyze_history(points, 0.02);
  ASSERT_EQ(facts.changes.size(), 1U);
  LevelChange const& change = facts.changes[0];
  EXPECT_EQ(change.at, 15U);
  EXPECT_NEAR(change.after_ns - change.before_ns, 0.6e6, 0.1e6);
  EXPECT_EQ(change.most, idle_part(IdleCause::kInput));
  EXPECT_NEAR(change.parts_ns[static_cast<size_t>(change.most)], 0.6e6, 1);
}

TEST(History, SmallChangesDoNotCount) {
  std::vector<HistoryPoint> points;
  for (int i = 0; i < 15; ++i) points.push_back(history_run(10e6 + i, 0, ""));
  for (int i = 0; i < 15; ++i) points.push_back(history_run(10.1e6 + i, 0, ""));
  EXPECT_TRUE(analyze_history(points, 0.02).changes.empty());
  EXPECT_EQ(analyze_history(points, 0.005).changes.size(), 1U);
}

TEST(History, OnlyTheLastRunsAreLookedAt) {
  std::vector<HistoryPoint> points(kMostSeriesValues + 7, history_run(10e6, 0, ""));
  HistoryStats const facts = analyze_history(points, 0.02);
  EXPECT_EQ(facts.left_out, 7U);
  EXPECT_EQ(facts.points.size(), kMostSeriesValues);
}

}  // namespace
}  // namespace stepscope::analyzer
