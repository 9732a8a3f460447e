// A column behaves like a vector, but new rows stay uninitialised until the caller fills them.
#include "trace/base/column.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include <gtest/gtest.h>

namespace stepscope::base {
namespace {

TEST(Column, LeavesNewPlacesAsTheyWere) {
  Column<int64_t> column(64);
  std::iota(column.begin(), column.end(), int64_t{1});
  column.resize(8);
  column.resize(64);  // the same memory
  for (size_t i = 0; i < column.size(); ++i) EXPECT_EQ(column[i], static_cast<int64_t>(i) + 1);
}

struct Row {
  int32_t device = -1;
  uint64_t bytes = 0;
  friend bool operator==(Row const&, Row const&) = default;
};

TEST(Column, FillsWhatItIsGiven) {
  Column<Row> column;
  column.resize(100, Row{});
  EXPECT_EQ(std::count(column.begin(), column.end(), Row{}), 100);
  column.assign(300, Row{7, 8});
  EXPECT_EQ(std::count(column.begin(), column.end(), Row{7, 8}), 300);

  column.emplace_back();
  column.back() = {1, 2};
  for (int32_t i = 0; i < 1000; ++i) column.push_back({i, 3});

  EXPECT_EQ(column[0], (Row{7, 8}));
  EXPECT_EQ(column[300], (Row{1, 2}));
  EXPECT_EQ(column[1300], (Row{999, 3}));
}

TEST(Column, IsCopiedMovedAndComparedByWhatIsInIt) {
  Column<uint16_t> const column = {3, 1, 2};
  Column<uint16_t> copy = column;
  EXPECT_EQ(copy, column);
  uint16_t const* const place = copy.data();
  Column<uint16_t> const moved = std::move(copy);
  EXPECT_EQ(moved, column);
  EXPECT_EQ(moved.data(), place);
}

}  // namespace
}  // namespace stepscope::base
