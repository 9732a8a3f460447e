#include "query/schema.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "query/tables/fact_tables.h"

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

/// Letters to insert, delete or replace (Levenshtein); names are short.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});

  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t const replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }

  return row.back();
}

/// 0 = the same. `duration` and `dur_ns` begin alike: that counts as near.
size_t strangeness(std::string_view name, std::string_view known) {
  constexpr size_t kStem = 3;  // letters that two names must share at their begin, units aside
  size_t const distance = edit_distance(name, known);
  std::string_view const stem = known.substr(0, known.find('_'));
  bool const related = (stem.size() >= kStem && name.starts_with(stem)) ||
                       (name.size() >= kStem && known.find(name) != std::string_view::npos);
  return related ? std::min(distance, size_t{2}) : distance;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
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

std::string schema_text() {
  std::string text;
  for (SchemaTable const& table : schema()) {
    text += fmt::format("{}{}: {}\n", text.empty() ? "" : "\n", table.name, table.meaning);
    for (SchemaColumn const& column : table.columns)
      text +=
          fmt::format("  {:<28} {:<8} {}\n", column.name, type_text(column.type), column.meaning);
  }
  return text;
}

std::vector<std::string_view> near_names(std::string_view name,
                                         std::vector<std::string_view> const& known) {
  constexpr size_t kLongest = 64;  // no name of ours is longer
  constexpr size_t kShown = 3;
  if (name.size() > kLongest) return {};

  std::string const lower = lower_case(name);
  size_t const limit = std::max<size_t>(2, lower.size() / 3);
  std::set<std::pair<size_t, std::string_view>> found;
  for (std::string_view const candidate : known)
    if (size_t const distance = strangeness(lower, candidate); distance <= limit)
      found.emplace(distance, candidate);

  std::vector<std::string_view> names;
  for (auto const& [distance, candidate] : found)
    if (names.size() < kShown) names.push_back(candidate);
  return names;
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

  auto const near = near_names(name, no_table ? tables : known);
  if (!near.empty()) return fmt::format("{}, did you mean {}?", message, fmt::join(near, " or "));
  if (no_table) return fmt::format("{}, there are {}", message, fmt::join(tables, ", "));
  return message + ", stepscope query --tables lists them";
}

}  // namespace stepscope::query
