// The checks of rows that are written in place agree with a look at each row.
#include "trace/model/build/column_spans.h"

#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "trace/model/build/trace_builder.h"
#include "trace/model/trace.h"

namespace stepscope::model {
namespace {

bool are_in_order_one_by_one(std::vector<int64_t> const& start, std::vector<int64_t> const& dur) {
  for (size_t i = 0; i < start.size(); ++i) {
    if (start[i] < -kMaxTime || start[i] > kMaxTime || dur[i] < 0 || dur[i] > kMaxTime - start[i])
      return false;
    if (i > 0 && !may_follow(start[i - 1], dur[i - 1], start[i], dur[i])) return false;
  }
  return true;
}

TEST(RowSpans, RowsAreInOrderWhereEachMayFollowTheOneBefore) {
  std::mt19937_64 random(4);
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(),
                    kMost = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> const hostile = {kLeast, kLeast + 1, -kMaxTime - 1, -kMaxTime,    -1,
                                        0,      1,          kMaxTime,      kMaxTime + 1, kMost};

  int in_order = 0, not_in_order = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<int64_t> start, dur;
    int64_t now = static_cast<int64_t>(random() % 100) - 50;
    for (size_t rows = random() % (round % 100 == 0 ? 3000 : 6); rows > 0; --rows) {
      start.push_back(now += static_cast<int64_t>(random() % 2));
      dur.push_back(start.size() > 1 && now == start[start.size() - 2]
                        ? dur.back()
                        : static_cast<int64_t>(random() % 5));
    }

    if (!start.empty() && round % 3 == 0)
      start[random() % start.size()] = hostile[random() % hostile.size()];
    if (!start.empty() && round % 5 == 0)
      dur[random() % dur.size()] = hostile[random() % hostile.size()];

    bool const expected = are_in_order_one_by_one(start, dur);
    EXPECT_EQ(are_in_order(start, dur), expected) << round;
    ++(expected ? in_order : not_in_order);
  }

  EXPECT_GT(in_order, 100);
  EXPECT_GT(not_in_order, 100);
}

TEST(RowSpans, TablesThatAreNotWantedHaveOneRowForAll) {
  TraceBuilder builder;
  TrackId const track = builder.add_track({.kind = TrackKind::kStream, .device = 0});
  RowSpans const rows = builder.make_rows(std::vector<uint32_t>{4});

  std::vector<EventKind> const kinds = {EventKind::kKernel, EventKind::kMemcpy, EventKind::kKernel,
                                        EventKind::kMemcpy};
  for (size_t i = 0; i < kinds.size(); ++i) {
    rows.start[i] = static_cast<int64_t>(i);
    rows.dur[i] = 1;
    rows.name[i] = StringId{0};
    rows.kind[i] = kinds[i];
    rows.correlation[i] = 0;
  }

  DetailTables& details = builder.make_details(
      count_details(rows.kind), uint32_t{1} << static_cast<int>(DetailTable::kCopies));
  std::get<DetailColumn<CopyDetail>>(details) = {CopyDetail{.bytes = 5}, CopyDetail{.bytes = 7}};
  Trace const trace = std::move(builder).finish_rows();

  EXPECT_EQ(trace.details<KernelDetail>().size(), 1U);
  EXPECT_EQ(trace.detail<KernelDetail>(2).bytes, 0U);
  EXPECT_EQ(trace.detail<CopyDetail>(1).bytes, 5U);
  EXPECT_EQ(trace.detail<CopyDetail>(3).bytes, 7U);
  EXPECT_EQ(trace.rows_of(track).size(), 4U);
  EXPECT_TRUE(std::get<std::span<KernelDetail const>>(trace.events_of(track).details).empty());
}

}  // namespace
}  // namespace stepscope::model
