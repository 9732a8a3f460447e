#include "trace/model/build/selected_rows.h"

#include <random>

#include <gtest/gtest.h>

namespace stepscope::model {
namespace {

/// Rows that say in their details, where they have any, which row they are.
EventBatch numbered_rows(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  EventBatch batch;
  for (size_t i = 0; i < count; ++i) {
    auto const number = static_cast<int64_t>(i);
    StringId const name{static_cast<uint32_t>(i)};
    switch (random() % 3) {
      case 0:
        batch.add(EventKind::kStep, number, number + 1, name, i, StepDetail{.index = number});
        break;
      case 1:
        batch.add(EventKind::kMemcpy, number, number + 1, name, i, CopyDetail{.bytes = i});
        break;
      default:
        batch.add(EventKind::kRange, number, number + 1, name, i);
    }
  }

  return batch;
}

TEST(KeepRows, copies_those_that_are_wanted_with_their_details) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    EventBatch const all = numbered_rows(seed * 7, seed);
    // Now single rows, now long runs, all, none.
    std::mt19937_64 random(seed);
    std::vector<bool> wanted(all.size());
    for (size_t row = 0; row < all.size(); ++row)
      wanted[row] = row > 0 && random() % (seed + 1) > 2 ? wanted[row - 1] : random() % 2 == 0;
    EventBatch const kept = copy_selected_rows(all, [&](size_t row) { return wanted[row]; });
    std::vector<uint32_t> const own_details = kept.detail_rows();
    size_t next = 0;
    for (size_t row = 0; row < all.size(); ++row) {
      if (!wanted[row]) continue;
      ASSERT_LT(next, kept.size());
      EXPECT_EQ(kept.start[next], all.start[row]);
      EXPECT_EQ(kept.dur[next], all.dur[row]);
      EXPECT_EQ(kept.name[next], all.name[row]);
      EXPECT_EQ(kept.kind[next], all.kind[row]);
      EXPECT_EQ(kept.correlation[next], all.correlation[row]);

      if (kept.kind[next] == EventKind::kStep) {
        EXPECT_EQ(std::get<DetailColumn<StepDetail>>(kept.details)[own_details[next]].index,
                  static_cast<int64_t>(row));
      }
      if (kept.kind[next] == EventKind::kMemcpy) {
        EXPECT_EQ(std::get<DetailColumn<CopyDetail>>(kept.details)[own_details[next]].bytes, row);
      }
      ++next;
    }

    EXPECT_EQ(kept.size(), next);
  }
}

}  // namespace
}  // namespace stepscope::model
