#include "trace/export/sqlite/sqlite_schema.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace stepscope::exporting {
namespace {

using model::ColumnOf;
using model::TableColumn;
using model::TableRows;
using model::TraceTable;

TraceTable const& event_table() {
  auto const tables = model::trace_tables();
  return *std::find_if(tables.begin(), tables.end(), [](TraceTable const& table) {
    return table.rows == TableRows::kEvents && table.detail == model::DetailTable::kNone;
  });
}

std::string definition(TableColumn const& column) {
  constexpr std::array<std::string_view, 4> kTypes = {"INTEGER", "REAL", "TEXT", "NUMERIC"};
  return fmt::format("\"{}\" {}", column.name, kTypes[static_cast<size_t>(column.type)]);
}

std::string table_sql(std::string_view name, std::string_view keys,
                      std::vector<TableColumn> const& columns) {
  std::string sql = fmt::format("CREATE TABLE \"{}\"({}", name, keys);
  for (TableColumn const& column : columns) sql += ", " + definition(column);
  return sql + ");\n";
}

/// Where a view of events finds a column.
std::string place_of(TableColumn const& column) {
  switch (column.of) {
    case ColumnOf::kProcess:
      return fmt::format("p.\"{}\"", column.name);
    case ColumnOf::kTrack:
      return column.name == "track_name" ? "t.name" : fmt::format("t.\"{}\"", column.name);
    case ColumnOf::kDetail:
      return fmt::format("d.\"{}\"", column.name);
    case ColumnOf::kEvent:
      break;
  }
  if (column.name == "name") return "x.text";
  if (column.name == "kind" || column.name == "class") return fmt::format("k.{}", column.name);
  if (column.name == "end_ns") return "e.start_ns + e.dur_ns";
  return fmt::format("e.\"{}\"", column.name);
}

std::string view_sql(TraceTable const& table) {
  std::string columns;
  for (TableColumn const& column : table.columns)
    columns +=
        fmt::format("{}{} AS \"{}\"", columns.empty() ? "" : ", ", place_of(column), column.name);
  bool const has_details = table.detail != model::DetailTable::kNone;

  // Each event has its row in all of them. SQLite tries the small tables of two joined views first,
  // and then all events for every pair of those (a million: minutes instead of a second). LEFT
  // JOINs keep enough of the small tables behind the event that it does not.
  return fmt::format(
      "CREATE VIEW \"{}\" AS SELECT {} FROM {} LEFT JOIN tracks t USING(track_key) LEFT JOIN "
      "processes p USING(process_key) LEFT JOIN kinds k USING(kind_key) LEFT JOIN texts x ON "
      "x.text_key = e.name_key;\n",
      table.name, columns,
      has_details ? fmt::format("\"{}\" d JOIN event_data e USING(event_key)", data_table(table))
                  : "event_data e");
}

}  // namespace

std::vector<TableColumn> stored_event_columns() {
  constexpr std::array<std::string_view, 4> kElsewhere = {"name", "kind", "class", "end_ns"};
  std::vector<TableColumn> columns;
  for (TableColumn const& column : event_table().columns)
    if (column.of == ColumnOf::kEvent &&
        std::find(kElsewhere.begin(), kElsewhere.end(), column.name) == kElsewhere.end())
      columns.push_back(column);
  return columns;
}

std::vector<TableColumn> detail_columns(TraceTable const& table) {
  std::vector<TableColumn> columns;
  for (TableColumn const& column : table.columns)
    if (column.of == ColumnOf::kDetail) columns.push_back(column);
  return columns;
}

std::string data_table(TraceTable const& table) { return fmt::format("{}_data", table.name); }

std::string schema_sql() {
  std::string sql =
      "CREATE TABLE texts(text_key INTEGER PRIMARY KEY, text TEXT NOT NULL);\n"
      "CREATE TABLE kinds(kind_key INTEGER PRIMARY KEY, kind TEXT NOT NULL, class TEXT);\n" +
      table_sql("event_data",
                "event_key INTEGER PRIMARY KEY, track_key INTEGER NOT NULL REFERENCES tracks, "
                "kind_key INTEGER NOT NULL REFERENCES kinds, "
                "name_key INTEGER NOT NULL REFERENCES texts",
                stored_event_columns());

  for (TraceTable const& table : model::trace_tables()) {
    switch (table.rows) {
      case TableRows::kProcess:
        sql += table_sql(table.name, "process_key INTEGER PRIMARY KEY", table.columns);
        break;
      case TableRows::kDevices:
        sql += table_sql(table.name, "process_key INTEGER NOT NULL REFERENCES processes",
                         table.columns);
        break;

      case TableRows::kTracks:
        sql += table_sql(
            table.name,
            "track_key INTEGER PRIMARY KEY, process_key INTEGER NOT NULL REFERENCES processes",
            table.columns);
        break;

      case TableRows::kEvents:
        if (table.detail != model::DetailTable::kNone)
          sql += table_sql(data_table(table), "event_key INTEGER PRIMARY KEY REFERENCES event_data",
                           detail_columns(table));
        sql += view_sql(table);
        break;
    }
  }

  return sql;
}

std::string index_sql() {
  return "CREATE INDEX event_by_time ON event_data(track_key, start_ns);\n"
         "CREATE INDEX event_by_name ON event_data(name_key);\n"
         "CREATE INDEX event_by_id ON event_data(id);\n"
         "CREATE INDEX event_by_correlation ON event_data(correlation) WHERE correlation IS NOT "
         "NULL;\n";
}

std::string insert_sql(std::string const& table, size_t columns, size_t rows) {
  std::string values;
  for (size_t i = 0; i < columns; ++i) values += i == 0 ? "(?" : ",?";
  values += ")";
  std::string sql = fmt::format("INSERT INTO \"{}\" VALUES{}", table, values);
  for (size_t i = 1; i < rows; ++i) sql += "," + values;
  return sql;
}

}  // namespace stepscope::exporting
