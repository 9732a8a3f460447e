// Rows found 64 at a time against a look at each.
#include "trace/model/kind_scan.h"

#include <random>

#include <gtest/gtest.h>

namespace stepscope::model {
namespace {

Trace::Columns random_kinds(std::mt19937& random, size_t rows) {
  Trace::Columns columns;
  for (size_t i = 0; i < rows; ++i)
    columns.kind.push_back(static_cast<EventKind>(random() % kKindCount));
  return columns;
}

template <class IsOne, class ForEach>
void expect_same(Trace::Columns const& columns, Trace::Rows rows, IsOne const& is_one,
                 ForEach const& for_each) {
  std::vector<uint32_t> expected, found;
  for (uint32_t row = rows.first; row < rows.last; ++row)
    if (is_one(columns.kind[row])) expected.push_back(row);
  for_each(columns, rows, [&](uint32_t row) { found.push_back(row); });
  ASSERT_EQ(found, expected) << rows.first << " to " << rows.last;
}

TEST(RowsOfKinds, AreThoseThatALookAtEachFinds) {
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    Trace::Columns const columns = random_kinds(random, random() % 300);
    auto const count = static_cast<uint32_t>(columns.kind.size());
    auto const first = static_cast<uint32_t>(random() % (count + 1));
    auto const last = first + static_cast<uint32_t>(random() % (count - first + 1));

    expect_same(
        columns, {first, last}, [](EventKind kind) { return kind == EventKind::kSync; },
        [](auto const&... what) { for_each_row_of<EventKind::kSync>(what...); });
    expect_same(
        columns, {first, last},
        [](EventKind kind) {
          return kind == EventKind::kRange || kind == EventKind::kAnnotatedMark;
        },
        [](auto const&... what) {
          for_each_row_of<EventKind::kRange, EventKind::kAnnotatedMark>(what...);
        });
    expect_same(columns, {first, last}, is_device_op,
                [](auto const&... what) { for_each_op_of(what...); });
  }
}

TEST(RowsOfKinds, OfNoneAreNone) {
  Trace::Columns const none;
  for_each_row_of<EventKind::kRange>(none, {0, 0}, [](uint32_t /*row*/) { FAIL(); });
}

}  // namespace
}  // namespace stepscope::model
