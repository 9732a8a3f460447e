// Rows as typed columns (trace/columns/column.h): results of queries, and whole tables of the
// trace, which are read where they are and not row by row.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/database.h"
#include "trace/base/expected.h"
#include "trace/columns/column.h"
#include "trace/model/run.h"

namespace stepscope::query {

using columns::Column;
using columns::ColumnBuilder;
using columns::ValueType;

/// All rows of a result.
class ColumnSink final : public RowSink {
 public:
  void begin(std::span<std::string const> columns) override;
  bool row(std::span<model::Cell const> cells) override;
  std::vector<Column> take();

 private:
  std::vector<ColumnBuilder> builders_;
};

/// The rows that `SELECT columns FROM table` has for a table of the trace (model::trace_tables()),
/// in the same order; several columns at once. `names`: empty = all. Errors: no such table or
/// column, or it was given up (asked now and then, by several threads; may be empty).
base::Expected<std::vector<Column>> read_table(model::Run const& run, std::string_view table,
                                               std::vector<std::string> const& names,
                                               std::function<bool()> const& is_given_up = {});

/// Whether read_table() has it: those of the analysis are asked in SQL.
bool is_trace_table(std::string_view name);

}  // namespace stepscope::query
