// Every table is documented: each column has a meaning and a place in docs/reference/QUERY.md, each
// field of details a column.
#include <fstream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>

#include "query/schema.h"
#include "tests/support/paths.h"
#include "trace/model/details.h"

namespace stepscope::query {
namespace {

TEST(Schema, EveryColumnHasAMeaningAndANameOfItsOwn) {
  std::set<std::string_view> tables;
  for (SchemaTable const& table : schema()) {
    EXPECT_TRUE(tables.insert(table.name).second) << table.name;
    EXPECT_FALSE(table.meaning.empty()) << table.name;

    std::set<std::string_view> columns;
    for (SchemaColumn const& column : table.columns) {
      EXPECT_TRUE(columns.insert(column.name).second) << table.name << "." << column.name;
      EXPECT_FALSE(column.meaning.empty())
          << table.name << "." << column.name << ": add a line to trace/model/table_fields.h";
    }
  }
}

TEST(Schema, EveryFieldOfDetailsIsAColumn) {
  size_t number = 0;
  auto const check = [&]<class Row>(model::DetailColumn<Row> const&) {
    auto const detail = static_cast<model::DetailTable>(number++);
    size_t columns = 0;
    for (model::TraceTable const& table : model::trace_tables())
      if (table.rows == model::TableRows::kEvents && table.detail == detail)
        for (model::TableColumn const& column : table.columns)
          columns += column.of == model::ColumnOf::kDetail ? 1 : 0;
    EXPECT_EQ(columns, std::tuple_size_v<std::remove_cvref_t<decltype(model::detail_fields<Row>)>>)
        << "detail table " << number - 1;
  };

  std::apply([&](auto const&... rows) { (check(rows), ...); }, model::DetailTables{});
  EXPECT_EQ(number, static_cast<size_t>(model::kDetailTableCount));
}

TEST(Schema, ThePageNamesEveryTableAndColumn) {
  std::ifstream file(support::source_path("docs/reference/QUERY.md"));
  ASSERT_TRUE(file);
  std::string const page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  for (SchemaTable const& table : schema()) {
    EXPECT_NE(page.find("`" + std::string(table.name) + "`"), std::string::npos) << table.name;
    for (SchemaColumn const& column : table.columns)
      EXPECT_NE(page.find("`" + std::string(column.name) + "`"), std::string::npos)
          << table.name << "." << column.name;
  }
}

}  // namespace
}  // namespace stepscope::query
