// SQLite's virtual tables as C++ classes: what a table is, how a part of it is read. Read-only, and
// no exception reaches SQLite.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sqlite3.h>

#include "trace/base/expected.h"
#include "trace/model/tables.h"

namespace stepscope::query {

struct VirtualColumn {
  std::string name;
  model::ColumnType type;
};

/// A walk over rows; row after row, one at a time.
class Cursor {
 public:
  Cursor() = default;
  Cursor(Cursor const&) = delete;
  Cursor& operator=(Cursor const&) = delete;
  virtual ~Cursor() = default;
  /// Restarts the scan as VirtualTable::best_index() decided, with the values of the constraints
  /// that it took, in their order.
  virtual void start(char const* plan, std::span<sqlite3_value*> values) = 0;
  virtual void next() = 0;
  [[nodiscard]] virtual bool at_end() const = 0;
  /// Its texts stay as long as the table.
  [[nodiscard]] virtual model::Cell column(size_t index) const = 0;
  [[nodiscard]] virtual int64_t row_id() const = 0;
};

class VirtualTable {
 public:
  VirtualTable() = default;
  VirtualTable(VirtualTable const&) = delete;
  VirtualTable& operator=(VirtualTable const&) = delete;
  virtual ~VirtualTable() = default;
  [[nodiscard]] virtual std::vector<VirtualColumn> columns() const = 0;
  /// As SQLite's xBestIndex; the plan's text goes into idxStr (see give_plan). What is not
  /// understood is left alone.
  virtual void best_index(sqlite3_index_info& info) = 0;
  virtual std::unique_ptr<Cursor> open() = 0;
};

/// Puts a table of that name into a database; it is there without being created, and outlives the
/// connection.
void add_table(sqlite3* database, std::string const& name, VirtualTable& table);

/// Sets idxStr. Out of memory: an empty plan, which allows everything.
void give_plan(sqlite3_index_info& info, std::string const& plan);

/// "name" as an identifier in SQL.
std::string quoted_identifier(std::string_view name);

}  // namespace stepscope::query
