// Statistics of comparisons compared with SciPy and R (compare_statistics_reference.py printed the
// numbers), and with twins that count every order.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "analyzer/compare/statistics.h"

namespace stepscope::analyzer {
namespace {

using Values = std::vector<double>;

Values const kSmallX = {101.2, 99.8, 100.5, 102.1, 98.7, 100.9},
             kSmallY = {103.4, 105.1, 102.9, 104.2, 101.7, 106.3, 103.8};
Values const kTenX = {10.1, 9.7, 10.4, 9.9, 10.6, 10.2, 9.5, 10.8, 10.3, 9.8};
Values const kTenY = {10.05, 9.65, 10.75, 10.45, 9.85, 10.95, 10.25, 9.55, 10.35, 10.15};
Values const kTiesX = {5, 5, 6, 7, 7, 7, 8, 9}, kTiesY = {6, 7, 7, 8, 8, 9, 9, 10, 10};

/// The set "large".
std::pair<Values, Values> many_values() {
  Values x, y;
  for (int i = 0; i < 60; ++i) x.push_back(i * 7919 % 1009 / 10.0);
  for (int i = 0; i < 70; ++i) y.push_back(i * 7907 % 1013 / 10.0 + 5.55);
  return {x, y};
}

void expect_near_relative(double found, double expected, double precision = 1e-12) {
  EXPECT_NEAR(found, expected, std::abs(expected) * precision) << "expected " << expected;
}

void expect_shift(Shift const& found, double estimate, double low, double high) {
  EXPECT_NEAR(found.estimate, estimate, 1e-9);
  EXPECT_NEAR(found.low, low, 1e-9);
  EXPECT_NEAR(found.high, high, 1e-9);
}

TEST(CompareStatistics, MannWhitneyIsExactForFewValuesWithoutTies) {
  RankSums sums;
  RankTest const small = mann_whitney(kSmallX, kSmallY, sums);
  EXPECT_TRUE(small.exact);
  EXPECT_EQ(small.u, 1);
  expect_near_relative(small.p, 0.002331002331002331);
  RankTest const ten = mann_whitney(kTenX, kTenY, sums);
  EXPECT_EQ(ten.u, 46);
  expect_near_relative(ten.p, 0.7959362618805345);
}

TEST(CompareStatistics, MannWhitneyCorrectsTheNormalDistributionForTiesAndContinuity) {
  RankSums sums;
  RankTest const ties = mann_whitney(kTiesX, kTiesY, sums);
  EXPECT_FALSE(ties.exact);
  EXPECT_EQ(ties.u, 16.5);
  expect_near_relative(ties.p, 0.06231804810873879);

  RankTest const constant = mann_whitney(Values(6, 4), Values(6, 5), sums);
  EXPECT_EQ(constant.u, 0);
  expect_near_relative(constant.p, 0.0012619447673879731);

  auto const [x, y] = many_values();
  RankTest const large = mann_whitney(x, y, sums);
  EXPECT_FALSE(large.exact);
  EXPECT_EQ(large.u, 1824);
  expect_near_relative(large.p, 0.19822507997613237);
}

TEST(CompareStatistics, MannWhitneyOfEqualValuesFindsNothing) {
  RankSums sums;
  EXPECT_EQ(mann_whitney(Values(8, 3), Values(9, 3), sums).p, 1);
  EXPECT_EQ(mann_whitney(Values{1}, Values{1}, sums).p, 1);
}

TEST(CompareStatistics, MannWhitneyIsTheSameFromEitherSide) {
  RankSums sums;
  for (auto const& [x, y] :
       {std::pair(kSmallX, kSmallY), std::pair(kTiesX, kTiesY), many_values()}) {
    RankTest const one = mann_whitney(x, y, sums), other = mann_whitney(y, x, sums);
    EXPECT_EQ(one.u + other.u, static_cast<double>(x.size() * y.size()));
    expect_near_relative(one.p, other.p);
  }
}

TEST(CompareStatistics, TheShiftIsThatOfHodgesAndLehmann) {
  RankSums sums;
  expect_shift(hodges_lehmann(kSmallX, kSmallY, 0.95, sums), 3.2, 1.7, 5.3);
  expect_shift(hodges_lehmann(kTenX, kTenY, 0.95, sums), 0.05, -0.35, 0.55);
  expect_shift(hodges_lehmann(kTiesX, kTiesY, 0.95, sums), 1.5, 0, 3);
  expect_shift(hodges_lehmann(Values(6, 4), Values(6, 5), 0.95, sums), 1, 1, 1);
  auto const [x, y] = many_values();
  expect_shift(hodges_lehmann(x, y, 0.95, sums), 6.95, -3.85, 17.75);
}

TEST(CompareStatistics, AnIntervalOfTooFewValuesIsThatOfAllDifferences) {
  RankSums sums;
  expect_shift(hodges_lehmann(Values{1, 2}, Values{5, 8}, 0.95, sums), 5, 3, 7);
  expect_shift(hodges_lehmann(Values{1}, Values{5}, 0.95, sums), 4, 4, 4);
}

TEST(CompareStatistics, QuantilesOfTheExactDistributionAreThoseOfR) {
  struct Known {
    size_t n, m, quantile;
    double cumulative;
  };

  for (Known const known :
       {Known{5, 5, 3, 0.027777777777777776}, Known{6, 7, 7, 0.02564102564102564},
        Known{20, 20, 128, 0.02619976093642486}, Known{49, 49, 925, 0.025206438557472031}}) {
    RankSumDistribution const distribution(known.n, known.m);
    EXPECT_EQ(distribution.quantile(0.025), known.quantile) << known.n;
    expect_near_relative(distribution.cumulative(known.quantile), known.cumulative);
  }
}

TEST(CompareStatistics, TheExactDistributionIsTheCountOfAllOrders) {
  for (auto const& [n, m] : {std::pair<size_t, size_t>(1, 1), {1, 6}, {4, 3}, {5, 5}, {2, 9}}) {
    std::vector<double> orders(n * m + 1, 0);
    std::vector<int> of_x(n + m, 0);
    std::fill(of_x.end() - static_cast<std::ptrdiff_t>(n), of_x.end(), 1);

    double all = 0;
    do {
      size_t u = 0, smaller_of_y = 0;
      for (int const is_of_x : of_x) is_of_x == 1 ? u += smaller_of_y : ++smaller_of_y;
      ++orders[u];
      ++all;
    } while (std::next_permutation(of_x.begin(), of_x.end()));

    RankSumDistribution const distribution(n, m);
    double sum = 0;
    for (size_t u = 0; u < orders.size(); ++u)
      expect_near_relative(distribution.cumulative(u), (sum += orders[u]) / all);
  }
}

TEST(CompareStatistics, StudentIsThatOfROfEqualVariances) {
  MeanTest const small = student(kSmallX, kSmallY, 0.95);
  expect_shift(small.shift, 3.3809523809523796, 1.7165818846166074, 5.045322877288152);
  expect_near_relative(small.p, 0.00094530871786060588, 1e-10);

  MeanTest const ties = student(kTiesX, kTiesY, 0.95);
  expect_shift(ties.shift, 1.4722222222222214, 0.030763429737498724, 2.9136810147069445);
  expect_near_relative(ties.p, 0.045867484821755622, 1e-10);

  auto const [x, y] = many_values();
  MeanTest const large = student(x, y, 0.95);
  expect_shift(large.shift, 6.9204761904761867, -3.3996524007453672, 17.240604781697741);
  expect_near_relative(large.p, 0.1869178561997287, 1e-10);
}

TEST(CompareStatistics, StudentHandlesValuesThatDoNotVary) {
  MeanTest const one_each = student(Values{3}, Values{5}, 0.95);
  EXPECT_EQ(one_each.degrees, 0);
  EXPECT_EQ(one_each.p, 1);
  EXPECT_TRUE(std::isinf(one_each.shift.low) && std::isinf(one_each.shift.high));
  EXPECT_EQ(student(Values(3, 4), Values(3, 4), 0.95).p, 1);
  EXPECT_EQ(student(Values(3, 4), Values(3, 5), 0.95).p, 0);
  EXPECT_EQ(student(Values{4, 6}, Values{5}, 0.95).degrees, 1);
}

TEST(CompareStatistics, TailsAndQuantilesAreThoseOfSciPyAndR) {
  expect_near_relative(student_quantile(0.05, 1), 12.706204736174707);
  expect_near_relative(student_quantile(0.05, 2), 4.3026527297494637);
  expect_near_relative(student_quantile(0.005, 4), 5.5975683670754579);
  expect_near_relative(student_quantile(0.05, 38), 2.0243941639119698);
  expect_near_relative(student_quantile(1e-6, 3), 130.154589558357911, 1e-10);

  expect_near_relative(student_two_sided(0.5, 1), 0.7048327646991336);
  expect_near_relative(student_two_sided(2, 4), 0.1161165235168155);
  expect_near_relative(student_two_sided(-3.5, 10), 0.0057265054298852106);
  expect_near_relative(student_two_sided(40, 6), 1.631836093054247e-08);
  expect_near_relative(student_two_sided(1e-3, 200), 0.9992031123011389);

  expect_near_relative(normal_quantile(0.025), -1.9599639845400545);
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-15);
  expect_near_relative(normal_quantile(0.9), 1.2815515655446004);
  expect_near_relative(normal_quantile(1e-9), -5.9978070150076865, 1e-10);
}

TEST(CompareStatistics, HolmIsThatOfR) {
  Values const adjusted = holm(Values{0.01, 0.04, 0.03, 0.005, 0.8, 0.04});
  Values const expected = {0.05, 0.12, 0.12, 0.03, 0.8, 0.12};
  ASSERT_EQ(adjusted.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) expect_near_relative(adjusted[i], expected[i]);
  EXPECT_TRUE(holm({}).empty());
  EXPECT_EQ(holm(Values{0.7, 0.6}), (Values{1, 1}));
}

TEST(CompareStatistics, CorrelationOfSuccessiveValuesIsSeenThroughTheMeansOfShortRuns) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise;
  double independent = 0, alike = 0;
  constexpr int kRuns = 400;

  for (int r = 0; r < kRuns; ++r) {
    std::vector<Values> free(2), tied(2);
    for (Values& run : free)
      for (int i = 0; i < 20; ++i) run.push_back(noise(random));
    for (Values& run : tied)
      for (int i = 0; i < 20; ++i)
        run.push_back((run.empty() ? 0 : 0.6 * run.back()) + noise(random));
    independent += lag_one_correlation(free) / kRuns;
    alike += lag_one_correlation(tied) / kRuns;
  }

  EXPECT_NEAR(independent, 0, 0.02);
  EXPECT_GT(alike, 0.45);
  EXPECT_EQ(lag_one_correlation(std::vector<Values>{Values(9, 3)}), 0);
  EXPECT_EQ(lag_one_correlation(std::vector<Values>{}), 0);
}

TEST(CompareStatistics, BlocksHoldAllValues) {
  EXPECT_EQ(block_means(Values{1, 2, 3, 4, 5}, 2), (Values{1.5, 4}));
  EXPECT_EQ(block_means(Values{1, 2, 3}, 1), (Values{1, 2, 3}));
  EXPECT_EQ(block_means(Values{1, 2, 3}, 8), (Values{2}));
  EXPECT_TRUE(block_means({}, 8).empty());
}

}  // namespace
}  // namespace stepscope::analyzer
