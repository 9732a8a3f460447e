#include "query/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "query/tables/fact_tables.h"
#include "reports/text/layout.h"
#include "trace/base/names/near_names.h"

namespace stepscope::query {
namespace {

std::string_view type_text(model::ColumnType type) {
  switch (type) {
    case model::ColumnType::kInteger:
      return "integer";
    case model::ColumnType::kReal:
      return "real";
    case model::ColumnType::kText:
      return "text";
    case model::ColumnType::kNumber:
      return "number";
  }
  return "";
}

}  // namespace

std::vector<SchemaTable> schema() {
  std::vector<SchemaTable> tables;
  for (model::TraceTable const& table : model::trace_tables()) {
    SchemaTable& shown = tables.emplace_back(SchemaTable{table.name, table.meaning, {}});
    for (model::TableColumn const& column : table.columns)
      shown.columns.push_back({column.name, column.type, column.meaning});
  }

  for (FactTable const& table : fact_tables()) {
    SchemaTable& shown = tables.emplace_back(SchemaTable{table.name, table.meaning, {}});
    for (FactColumn const& column : table.columns)
      shown.columns.push_back({column.name, column.type, column.meaning});
  }

  return tables;
}

std::string schema_text(int width) {
  constexpr size_t kMeaningColumn = 40;
  std::string text;

  for (SchemaTable const& table : schema()) {
    std::string const name = fmt::format("{}:", table.name);
    text += text.empty() ? "" : "\n";
    text += reports::list_line(name, table.meaning, name.size() + 1, width);
    for (SchemaColumn const& column : table.columns)
      text += reports::list_line(fmt::format("  {:<28} {}", column.name, type_text(column.type)),
                                 column.meaning, kMeaningColumn, width);
  }
  return text;
}

std::string with_near_names(std::string const& message) {
  constexpr std::string_view kNoTable = "no such table: ", kNoColumn = "no such column: ";
  bool const no_table = message.starts_with(kNoTable);
  if (!no_table && !message.starts_with(kNoColumn)) return message;

  std::string_view name =
      std::string_view(message).substr(no_table ? kNoTable.size() : kNoColumn.size());
  name = name.substr(name.rfind('.') + 1);

  std::vector<std::string_view> known, tables, having;
  for (SchemaTable const& table : schema()) {
    tables.push_back(table.name);
    for (SchemaColumn const& column : table.columns) {
      if (!no_table) known.push_back(column.name);
      if (!no_table && column.name == name) having.push_back(table.name);
    }
  }
  if (!having.empty()) return fmt::format("{}, but in {}", message, fmt::join(having, ", "));

  auto const near = base::near_names(name, no_table ? tables : known);
  if (!near.empty()) return fmt::format("{}, did you mean {}?", message, fmt::join(near, " or "));
  if (no_table) return fmt::format("{}, there are {}", message, fmt::join(tables, ", "));
  return message + ", stepscope query --tables lists them";
}

}  // namespace stepscope::query
