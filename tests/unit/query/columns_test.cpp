// Columns have what the same question in SQL answers, value by value.
#include "query/columns.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "tests/support/random_ranks.h"
#include "tests/support/synthetic_run.h"

namespace stepscope::query {
namespace {

using model::Cell;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Column> in_sql(model::Run const& run, std::string const& sql) {
  auto database = Database::open(run);
  EXPECT_TRUE(database);
  ColumnSink sink;
  auto const rows = database->run(sql, sink);
  EXPECT_TRUE(rows) << sql;
  return sink.take();
}

/// As text, whatever the type; NULL is "NULL".
std::vector<std::string> values_of(Column const& column) {
  std::vector<std::string> values;
  for (size_t row = 0; row < column.rows(); ++row) {
    bool const is_null = !column.is_null.empty() && column.is_null[row] != 0;
    if (is_null) values.emplace_back("NULL");
    if (is_null) continue;

    if (column.type == ValueType::kInteger)
      values.push_back(model::to_text(Cell::of(column.integers[row])));
    else if (column.type == ValueType::kReal)
      values.push_back(model::to_text(Cell::of(column.reals[row])));
    else
      values.push_back(column.texts[static_cast<size_t>(column.codes[row])]);
  }
  return values;
}

TEST(ReadTable, HasWhatTheSameTableHasInSql) {
  support::SyntheticOptions two;
  two.process_per_device = true;
  two.rank_clock_offset_ns = 5'000'000;

  for (model::Run const& run :
       {support::make_synthetic_run(two), support::random_ranks({.seed = 4}),
        support::random_ranks({.seed = 5}), model::Run{}}) {
    for (model::TraceTable const& table : model::trace_tables()) {
      auto const direct = read_table(run, table.name, {});
      ASSERT_TRUE(direct) << direct.error().message;
      auto const asked = in_sql(run, fmt::format("select * from {}", table.name));
      ASSERT_EQ(direct->size(), asked.size()) << table.name;

      for (size_t i = 0; i < asked.size(); ++i) {
        EXPECT_EQ((*direct)[i].name, asked[i].name);
        EXPECT_EQ(values_of((*direct)[i]), values_of(asked[i])) << table.name << asked[i].name;
        EXPECT_EQ((*direct)[i].nulls, asked[i].nulls);
      }
    }
  }
}

TEST(ReadTable, TakesTheColumnsThatAreNamedInTheirOrder) {
  model::Run const run = support::make_synthetic_run({});
  auto const columns = read_table(run, "kernels", {"dur_ns", "name"});
  ASSERT_TRUE(columns) << columns.error().message;
  ASSERT_EQ(columns->size(), 2U);
  EXPECT_EQ((*columns)[0].name, "dur_ns");
  EXPECT_EQ((*columns)[1].type, ValueType::kText);
  EXPECT_GT((*columns)[1].rows(), 0U);
}

TEST(ReadTable, SaysWhatIsNotThere) {
  model::Run const run = support::make_synthetic_run({});
  EXPECT_THAT(read_table(run, "cats", {}).error().message, HasSubstr("cats: is no table"));
  EXPECT_THAT(read_table(run, "kernels", {"colour"}).error().message,
              HasSubstr("kernels has no column colour, it has"));
  EXPECT_THAT(read_table(run, "kernels", {}, [] { return true; }).error().message,
              HasSubstr("was stopped"));
  EXPECT_TRUE(is_trace_table("kernels"));
  EXPECT_FALSE(is_trace_table("steps_of_nothing"));
}

Column column_of(std::initializer_list<Cell> cells) {
  ColumnBuilder builder("x");
  for (Cell const& cell : cells) builder.add(cell);
  return builder.take();
}

TEST(ColumnBuilder, BecomesWhatAllOfItsCellsCanBe) {
  Column const integers = column_of({Cell::of(int64_t{5}), Cell{}, Cell::of(int64_t{-7})});
  EXPECT_EQ(integers.type, ValueType::kInteger);
  EXPECT_THAT(integers.integers, ElementsAre(5, 0, -7));
  EXPECT_THAT(integers.is_null, ElementsAre(0, 1, 0));
  EXPECT_EQ(integers.nulls, 1U);

  Column const reals = column_of({Cell{}, Cell::of(int64_t{5}), Cell::of(2.5)});
  EXPECT_EQ(reals.type, ValueType::kReal);
  EXPECT_TRUE(std::isnan(reals.reals[0]));
  EXPECT_EQ(reals.reals[1], 5);
  EXPECT_THAT(reals.is_null, ElementsAre(1, 0, 0));

  EXPECT_THAT(values_of(column_of({Cell::of(int64_t{5}), Cell{}, Cell::of(2.5),
                                   Cell::of(std::string_view("a")), Cell::address(16),
                                   Cell::of(std::string_view("a"))})),
              ElementsAre("5", "NULL", "2.5", "a", "0x0000000000000010", "a"));
  EXPECT_THAT(column_of({Cell::of(std::string_view("b")), Cell::of(std::string_view("a")),
                         Cell::of(std::string_view("b"))})
                  .codes,
              ElementsAre(0, 1, 0));
  EXPECT_EQ(column_of({Cell::of(std::numeric_limits<uint64_t>::max())}).type, ValueType::kReal);
}

/// Reals cannot say them: they are kept with their column.
TEST(ColumnBuilder, KeepsLargeIntegersExactly) {
  int64_t const large = (int64_t{1} << 53) + 1;
  Column const mixed =
      column_of({Cell::of(large), Cell::of(0.5), Cell::of(-large),
                 Cell::of(std::numeric_limits<uint64_t>::max()), Cell::of(large - 1)});
  EXPECT_EQ(mixed.type, ValueType::kReal);

  ASSERT_EQ(mixed.exact.size(), 3U);
  EXPECT_EQ(mixed.exact.at(0), Cell::of(large));
  EXPECT_EQ(mixed.exact.at(2), Cell::of(-large));
  EXPECT_THAT(
      values_of(column_of({Cell::of(large), Cell::of(0.5), Cell::of(std::string_view("a"))})),
      ElementsAre("9007199254740993", "0.5", "a"));
}

TEST(ColumnSink, HasNoTextThatIsNoUtf8) {
  model::Run const run = support::make_synthetic_run({});
  auto const columns = in_sql(run, "select cast(x'ff41' as text) as t");
  EXPECT_EQ(columns.at(0).texts.at(0),
            "\xef\xbf\xbd"
            "A");
}

}  // namespace
}  // namespace stepscope::query
