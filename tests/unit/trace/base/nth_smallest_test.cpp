// Against the library's, on numbers in all kinds of order.
#include "trace/base/nth_smallest.h"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace stepscope::base {
namespace {

template <class Value>
void expect_as_sorted(std::vector<Value> values, size_t n) {
  std::vector<Value> sorted = values;
  std::sort(sorted.begin(), sorted.end());

  std::vector<Value> moved = values;
  EXPECT_EQ(nth_smallest(std::span(moved), n), sorted[n]);
  EXPECT_EQ(moved[n], sorted[n]);
  for (size_t i = 0; i < n; ++i) EXPECT_LE(moved[i], moved[n]);
  for (size_t i = n; i < moved.size(); ++i) EXPECT_GE(moved[i], moved[n]);

  std::sort(moved.begin(), moved.end());
  EXPECT_EQ(moved, sorted) << "none is lost";
}

template <class Value>
void expect_as_sorted_at_many_places(std::vector<Value> const& values) {
  size_t const size = values.size();
  for (size_t const n :
       {size_t{0}, size_t{1}, size / 4, (size - 1) / 2, size / 2, size * 95 / 100, size - 1})
    if (n < size) expect_as_sorted(values, n);
}

TEST(NthSmallest, IsThatOfSortedNumbers) {
  std::mt19937_64 random(3);
  for (size_t const size :
       std::initializer_list<size_t>{1, 2, 3, 11, 12, 13, 64, 65, 1023, 1024, 1025, 20'000}) {
    for (uint64_t const different : {uint64_t{1}, uint64_t{2}, uint64_t{10}, uint64_t{1} << 40U}) {
      std::vector<int64_t> values;
      std::vector<double> doubles;
      for (size_t i = 0; i < size; ++i) {
        values.push_back(static_cast<int64_t>(random() % different) -
                         static_cast<int64_t>(different / 2));
        doubles.push_back(static_cast<double>(values.back()) / 7);
      }

      SCOPED_TRACE(size);
      SCOPED_TRACE(different);
      expect_as_sorted_at_many_places(values);
      expect_as_sorted_at_many_places(doubles);

      std::sort(values.begin(), values.end());
      expect_as_sorted_at_many_places(values);
      std::sort(values.begin(), values.end(), std::greater<>());
      expect_as_sorted_at_many_places(values);
    }
  }
}

TEST(NthSmallest, ASampleThatTellsNothingMakesNothingWrong) {
  // What is looked at first is all the same, or the greatest.
  for (int64_t const sampled : {int64_t{0}, int64_t{1'000'000}}) {
    std::vector<int64_t> values(127 * 50);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = i % 50 == 0 ? sampled : static_cast<int64_t>(i * 7919 % 100'003);
    expect_as_sorted_at_many_places(values);
  }
}

}  // namespace
}  // namespace stepscope::base
