// Quantiles by a sample are those of the sorted values, whatever the values are.
#include "analyzer/metrics/core/quantile.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace stepscope::analyzer {
namespace {

void expect_quantiles_of_sorted(std::vector<int64_t> const& values) {
  std::vector<int64_t> sorted = values, taken = values;
  std::sort(sorted.begin(), sorted.end());
  for (size_t const percent : {1U, 25U, 50U, 95U, 99U, 100U})
    ASSERT_EQ(quantile(taken, percent), sorted[(sorted.size() * percent + 99) / 100 - 1])
        << values.size() << " " << percent;

  taken = values;
  Distribution const all = distribution(taken);
  ASSERT_EQ(all.least, sorted.front()) << values.size();
  ASSERT_EQ(all.median, sorted[(sorted.size() * 50 + 99) / 100 - 1]) << values.size();
  ASSERT_EQ(all.p95, sorted[(sorted.size() * 95 + 99) / 100 - 1]) << values.size();
  ASSERT_EQ(all.most, sorted.back()) << values.size();
}

TEST(Quantile, IsThatOfTheSortedValues) {
  std::mt19937_64 random(3);
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(),
                    kMost = std::numeric_limits<int64_t>::max();

  std::vector<std::function<int64_t()>> const kinds = {
      [&] { return static_cast<int64_t>(random()); },            // of any sign and size
      [&] { return static_cast<int64_t>(random() % 100); },      // often the same
      [&] { return int64_t{7}; },                                // always
      [&] { return static_cast<int64_t>(random() % 20) - 10; },  // about 0
      [&] { return int64_t{1} << (random() % 62); },             // powers
      [&] {
        if (random() % 3 == 0) return kLeast;
        return random() % 2 == 0 ? kMost : int64_t{0};
      },
      [&] {
        return random() % 1000 == 0 ? int64_t{1'000'000'000}
                                    : static_cast<int64_t>(5'000 + random() % 300);
      }};

  for (auto const& kind : kinds) {
    for (size_t const count : {1U, 2U, 99U, 511U, 512U, 513U, 5000U}) {
      std::vector<int64_t> values(count);
      std::generate(values.begin(), values.end(), kind);
      expect_quantiles_of_sorted(values);
    }
  }
}

TEST(Quantile, OfManyThatRepeatThemselvesOrComeInOrderToo) {
  std::mt19937_64 random(4);
  std::vector<int64_t> values(200'000);
  for (size_t period : {2U, 64U, 195U, 237U, 1024U, 100'000U, 200'000U}) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i % period);
    expect_quantiles_of_sorted(values);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<int64_t>(i % period == 0 ? random() % 1000 : 7);
    expect_quantiles_of_sorted(values);
  }
}

}  // namespace
}  // namespace stepscope::analyzer
