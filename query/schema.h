// Every table that a query can name: those of the trace and those of the analysis, with a line of
// meaning a column.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/model/tables.h"

namespace stepscope::query {

struct SchemaColumn {
  std::string_view name;
  model::ColumnType type;
  std::string_view meaning;
};
struct SchemaTable {
  std::string_view name, meaning;
  std::vector<SchemaColumn> columns;
};

std::vector<SchemaTable> schema();

/// For `stepscope query --tables`: a paragraph a table. `width`: columns of the terminal, 0 = none.
std::string schema_text(int width);

/// SQLite's message with what could be meant, where it is about an unknown table or column.
std::string with_near_names(std::string const& message);

}  // namespace stepscope::query
