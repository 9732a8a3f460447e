#include "trace/model/event_batch.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace stepscope::model {
namespace {

/// What sorted_order() promises, in the shortest way to say it.
std::vector<uint32_t> naive_order(EventBatch const& batch) {
  std::vector<uint32_t> order(batch.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return batch.start[a] != batch.start[b] ? batch.start[a] < batch.start[b]
                                            : batch.dur[a] > batch.dur[b];
  });
  return order;
}

/// `count` rows whose times come from `time(row)`, ties included.
EventBatch made_batch(size_t count,
                      std::function<std::pair<int64_t, int64_t>(size_t)> const& time) {
  EventBatch batch;
  for (size_t i = 0; i < count; ++i) {
    auto const [start, dur] = time(i);
    batch.add(EventKind::kRange, start, dur, StringId{0});
  }
  return batch;
}

void expect_like_naive(EventBatch const& batch) {
  auto const naive = naive_order(batch);
  EXPECT_EQ(batch.sorted_order(), naive);
  EXPECT_EQ(batch.is_sorted(), std::is_sorted(naive.begin(), naive.end()));
}

TEST(EventBatch, order_of_any_rows_is_that_of_a_stable_sort) {
  std::mt19937_64 random(11);
  for (size_t const count : {0, 1, 2, 3, 10, 300, 5000}) {
    for (int64_t const times : {1, 3, 1000, 1'000'000'000}) {
      expect_like_naive(made_batch(count, [&](size_t) {
        return std::pair(static_cast<int64_t>(random() % static_cast<uint64_t>(times)) - times / 2,
                         static_cast<int64_t>(random() % 4));
      }));
    }
  }
}

TEST(EventBatch, order_of_nearly_sorted_rows_is_that_of_a_stable_sort) {
  std::mt19937_64 random(12);
  for (size_t const displaced : {1, 2, 30, 400, 3000}) {
    auto batch = made_batch(4000, [](size_t i) {
      return std::pair(static_cast<int64_t>(i / 2), static_cast<int64_t>(i % 2));
    });
    for (size_t i = 0; i < displaced; ++i)
      batch.start[random() % batch.size()] = static_cast<int64_t>(random() % 3000);
    expect_like_naive(batch);
  }
}

TEST(EventBatch, sees_the_one_row_that_is_out_of_order_wherever_it_is) {
  for (size_t const place : {1, 2, 1023, 1024, 1025, 2999}) {
    auto batch = made_batch(
        3000, [](size_t i) { return std::pair(static_cast<int64_t>(10 * i), int64_t{5}); });
    EXPECT_TRUE(batch.is_sorted());
    batch.start[place] -= 11;
    EXPECT_FALSE(batch.is_sorted()) << place;
    expect_like_naive(batch);
  }
}

TEST(EventBatch, orders_the_extremes_of_time) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min(),
                    kMax = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> const starts = {kMax, 0, kMin, -1, kMax, kMin, 1};
  expect_like_naive(
      made_batch(starts.size(), [&](size_t i) { return std::pair(starts[i], int64_t{0}); }));
}

}  // namespace
}  // namespace stepscope::model
