#include "trace/model/build/order_batches.h"

#include <algorithm>
#include <random>
#include <tuple>

#include <gtest/gtest.h>

namespace stepscope::model {
namespace {

/// Everything of an event; its name tells when it came.
struct Row {
  int64_t start = 0, dur = 0;
  uint32_t came = 0;
  EventKind kind = EventKind::kRange;
  uint64_t correlation = 0,
           detail = 0;  ///< detail: a number that its row in the table holds, 0 without one
  friend bool operator==(Row const&, Row const&) = default;
};

std::vector<Row> rows_of(std::vector<EventBatch> const& batches) {
  std::vector<Row> rows;
  for (EventBatch const& batch : batches) {
    std::vector<uint32_t> const details = batch.detail_rows();
    for (uint32_t i = 0; i < batch.size(); ++i) {
      Row row = {batch.start[i], batch.dur[i],         batch.name[i].value,
                 batch.kind[i],  batch.correlation[i], 0};

      if (row.kind == EventKind::kStep)
        row.detail = static_cast<uint64_t>(
            std::get<model::DetailColumn<StepDetail>>(batch.details).at(details[i]).index);
      if (row.kind == EventKind::kMemcpy)
        row.detail = std::get<model::DetailColumn<CopyDetail>>(batch.details).at(details[i]).bytes;

      rows.push_back(row);
    }
  }

  return rows;
}

/// What order_batches() promises, in the shortest way to say it.
std::vector<Row> naive_order(std::vector<EventBatch> const& batches) {
  std::vector<Row> rows = rows_of(batches);
  std::stable_sort(rows.begin(), rows.end(), [](Row const& a, Row const& b) {
    return std::tuple(a.start, -a.dur) < std::tuple(b.start, -b.dur);
  });
  return rows;
}

class Batches {
 public:
  explicit Batches(uint64_t seed) : random_(seed) {}

  /// Events of three kinds, two of them with details, `spread` ns about a time that each batch
  /// begins at.
  std::vector<EventBatch> make(size_t count, size_t rows, int64_t step, int64_t spread) {
    std::vector<EventBatch> batches(count);
    for (size_t b = 0; b < count; ++b)
      for (size_t i = 0; i < rows; ++i)
        add(batches[b], static_cast<int64_t>(b) * step + below(spread));
    return batches;
  }
  /// As `make`, each batch in order already.
  std::vector<EventBatch> make_sorted(size_t count, size_t rows, int64_t step, int64_t spread) {
    std::vector<EventBatch> batches = make(count, rows, step, spread);
    for (EventBatch& batch : batches) batch = sorted_copy(batch);
    return batches;
  }

 private:
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }
  void add(EventBatch& batch, int64_t start) {
    StringId const name{came_++};
    int64_t const dur = below(3);

    switch (random_() % 3) {
      case 0:
        return batch.add(EventKind::kStep, start, dur, name, random_() % 9,
                         StepDetail{static_cast<int64_t>(came_)});
      case 1: {
        CopyDetail detail;
        detail.bytes = came_;
        return batch.add(EventKind::kMemcpy, start, dur, name, random_() % 9, detail);
      }
      default:
        return batch.add(EventKind::kRange, start, dur, name);
    }
  }
  std::mt19937_64 random_;
  uint32_t came_ = 1;
};

void expect_like_naive(std::vector<std::vector<EventBatch>> tracks) {
  std::vector<std::vector<Row>> expected;
  for (auto const& batches : tracks) expected.push_back(naive_order(batches));

  order_batches(tracks);
  ASSERT_EQ(tracks.size(), expected.size());
  for (size_t track = 0; track < tracks.size(); ++track) {
    EXPECT_TRUE(rows_of(tracks[track]) == expected[track]) << "track " << track;
    for (EventBatch const& batch : tracks[track]) {
      EXPECT_FALSE(batch.empty());
      EXPECT_TRUE(batch.is_sorted());
    }
  }
}

TEST(OrderBatches, any_batches_become_one_order) {
  Batches batches(3);
  for (size_t const count : {0, 1, 2, 3, 7, 40}) {
    for (int64_t const step : {0, 1, 50, 5000}) {
      for (int64_t const spread : {1, 60, 10'000})
        expect_like_naive(
            {batches.make(count, 100, step, spread), batches.make_sorted(count, 60, step, spread)});
    }
  }
}

TEST(OrderBatches, batches_longer_than_a_piece_are_merged_in_parts) {
  Batches batches(4);
  expect_like_naive(
      {batches.make(3, 50'000, 1000, 100'000), batches.make_sorted(2, 70'000, 0, 200)});
}

TEST(OrderBatches, a_part_of_one_time_stays_as_it_came) {
  Batches batches(5);
  expect_like_naive({batches.make(5, 20'000, 0, 1)});
}

TEST(OrderBatches, empty_batches_between_others_hide_no_disorder) {
  Batches batches(6);
  std::vector<EventBatch> late_first = batches.make_sorted(2, 10, 1000, 10);
  std::swap(late_first[0], late_first[1]);
  late_first.insert(late_first.begin() + 1, EventBatch());
  expect_like_naive({late_first, {EventBatch()}, {}});
}

TEST(OrderBatches, batches_that_follow_each_other_are_not_copied) {
  Batches batches(7);
  std::vector<std::vector<EventBatch>> tracks = {batches.make_sorted(4, 100, 1000, 500)};
  std::vector<int64_t const*> before;
  for (EventBatch const& batch : tracks[0]) before.push_back(batch.start.data());
  order_batches(tracks);
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(tracks[0][i].start.data(), before[i]);
}

}  // namespace
}  // namespace stepscope::model
