// query and table: a run's events and numbers in SQL.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "agent/tools/row_collector.h"
#include "agent/tools/tools.h"
#include "query/output.h"
#include "query/schema.h"
#include "trace/base/format.h"
#include "trace/base/names/near_names.h"

namespace stepscope::agent {
namespace {

constexpr int64_t kMostRows = 1000, kUsualRows = 50;
/// An agent waits for no longer, and its next question should find a server that listens.
constexpr std::chrono::seconds kLongestQuery{60};
constexpr int kLongestValue = 1 << 20;

constexpr Argument kLimitArgument = {
    "limit", ArgumentType::kNumber, false, "most rows of the answer", 1, kMostRows, kUsualRows};
constexpr std::array kQueryArguments = {
    kRunArgument,
    Argument{"sql", ArgumentType::kText, true,
             "one SELECT in SQLite's SQL over the tables that the tool table lists"},
    kLimitArgument};
constexpr std::array kTableArguments = {
    kRunArgument,
    Argument{"table", ArgumentType::kText, false,
             "the name of a table; without it, all tables are listed"},
    kLimitArgument};

constexpr std::string_view kQuerySchema = R"({
  "type": "object",
  "required": ["columns", "rows", "is_complete"],
  "properties": {
    "columns": {"type": "array", "items": {"type": "string"}},
    "rows": {"type": "array", "items": {"type": "array"}},
    "is_complete": {"type": "boolean"},
    "cut_reason": {"type": "string"}
  }
})";
constexpr std::string_view kTableSchema = R"({
  "type": "object",
  "properties": {
    "tables": {"type": "array", "items": {"type": "object"}},
    "table": {"type": "string"},
    "columns": {"type": "array", "items": {"type": "object"}},
    "rows": {"type": "array", "items": {"type": "array"}},
    "is_complete": {"type": "boolean"}
  }
})";

using Rows = std::unique_ptr<RowCollector>;

/// Errors: as `stepscope query` prints them; the statement takes too long.
base::Expected<Rows> ask(Question const& question, std::string const& sql) {
  auto const opened = question.runs.open(question.arguments.text("run"));
  if (!opened) return base::fail_with(opened);
  auto const database = (*opened)->database();
  if (!database) return base::fail("query: {}", database.error().message);

  auto const end = std::chrono::steady_clock::now() + kLongestQuery;
  bool is_late = false;
  query::QueryOptions options;
  options.longest_value_bytes = kLongestValue;
  options.is_given_up = [&] {
    is_late = is_late || std::chrono::steady_clock::now() > end;
    return is_late || question.is_cancelled();
  };

  auto rows =
      std::make_unique<RowCollector>(static_cast<size_t>(question.arguments.number("limit")));
  auto const answered = (*database)->run(sql, *rows, options);
  if (answered) return rows;
  if (is_late)
    return base::fail("query: it was stopped after {} s, ask for fewer rows or join fewer tables",
                      kLongestQuery.count());

  auto const& [message, offset] = answered.error();
  return base::fail("query: {}{}", message,
                    offset ? "\n" + query::marked_place(sql, *offset) : std::string());
}

OrderedJson rows_json(RowCollector const& rows) {
  OrderedJson data = {{"columns", rows.columns()},
                      {"rows", rows.rows()},
                      {"is_complete", rows.cut_reason().empty()}};
  if (!rows.cut_reason().empty()) data["cut_reason"] = rows.cut_reason();
  return data;
}

base::Expected<Answer> answer_query(Question const& question) {
  auto const rows = ask(question, question.arguments.text("sql"));
  if (!rows) return base::fail_with(rows);
  return Answer{(*rows)->markdown(), rows_json(**rows)};
}

std::string_view type_name(model::ColumnType type) {
  switch (type) {
    case model::ColumnType::kInteger:
      return "integer";
    case model::ColumnType::kReal:
      return "real";
    case model::ColumnType::kNumber:
      return "number";
    case model::ColumnType::kText:
      break;
  }
  return "text";
}

Answer list_tables(std::vector<query::SchemaTable> const& tables) {
  std::string text = "| table | rows |\n|---|---|\n";
  OrderedJson data = OrderedJson::array();
  for (query::SchemaTable const& table : tables) {
    text += fmt::format("| {} | {} |\n", table.name, table.meaning);
    data.push_back({{"table", table.name}, {"meaning", table.meaning}});
  }
  return {std::move(text), {{"tables", std::move(data)}}};
}

/// Errors: no table has this name; the message names those that are nearly so.
base::Expected<query::SchemaTable> find_table(std::vector<query::SchemaTable> const& tables,
                                              std::string const& name) {
  std::vector<std::string_view> names;
  for (query::SchemaTable const& table : tables) {
    if (table.name == name) return table;
    names.push_back(table.name);
  }

  std::string near;
  for (std::string_view const each : base::near_names(name, names))
    near += fmt::format("{}{}", near.empty() ? ", is this meant: " : ", ", each);
  return base::fail("{}: no such table{}; without an argument, table lists all",
                    base::printable(name), near);
}

base::Expected<Answer> answer_table(Question const& question) {
  std::vector<query::SchemaTable> const tables = query::schema();
  if (!question.arguments.has("table")) return list_tables(tables);
  auto const table = find_table(tables, question.arguments.text("table"));
  if (!table) return base::fail_with(table);
  auto const rows = ask(question, fmt::format("select * from {}", table->name));
  if (!rows) return base::fail_with(rows);

  std::string text = fmt::format("## {}\n\n{}\n\n| column | type | meaning |\n|---|---|---|\n",
                                 table->name, table->meaning);
  OrderedJson columns = OrderedJson::array();
  for (query::SchemaColumn const& column : table->columns) {
    std::string_view const type = type_name(column.type);
    text += fmt::format("| {} | {} | {} |\n", column.name, type, column.meaning);
    columns.push_back({{"name", column.name}, {"type", type}, {"meaning", column.meaning}});
  }

  OrderedJson data = rows_json(**rows);
  data["table"] = table->name;
  data["columns"] = std::move(columns);
  return Answer{text + "\n" + (*rows)->markdown(), std::move(data)};
}

}  // namespace

Tool query_tool() {
  return {"query",
          "Ask in SQL",
          "Answers one SELECT in SQLite's SQL over the events and the analysis of a run, as "
          "`stepscope query` does. Times are ns. The tool table and the resource QUERY.md name the "
          "tables.",
          kQueryArguments,
          kQuerySchema,
          answer_query};
}

Tool table_tool() {
  return {"table",
          "Look at a table",
          "Lists the tables that query knows, or the columns and the first rows of one.",
          kTableArguments,
          kTableSchema,
          answer_table};
}

}  // namespace stepscope::agent
