// Reads a database of another program in the only safe way: real tables, from their first row to
// their last, columns by name. It uses no expression, view, trigger, index or extension of the file
// and does no more work than a file of its size can ask for.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sqlite3.h>

#include "trace/base/bytes.h"
#include "trace/base/expected.h"

namespace stepscope::import {

class Database {
 public:
  /// The bytes outlive the database and are not written. `most_rows`: all tables together are read
  /// to that many rows. Errors: the tables' definitions cannot be read.
  static base::Expected<Database> open(base::ByteSpan bytes, std::string const& name,
                                       uint64_t most_rows);

  /// Real tables, by name.
  [[nodiscard]] bool has(std::string_view table) const {
    return tables_.find(table) != tables_.end();
  }
  [[nodiscard]] bool has(std::string_view table, std::string_view column) const;
  [[nodiscard]] std::vector<std::string_view> tables() const;
  /// Whether the table has a row; false where that cannot be known.
  bool has_rows(std::string_view table);

  [[nodiscard]] uint64_t rows_read() const { return state_->rows_read; }
  /// There were more rows than `most_rows`.
  [[nodiscard]] bool is_too_much() const { return state_->rows_read > state_->most_rows; }
  /// Tables that are damaged and were read in part, for people.
  [[nodiscard]] std::vector<std::string> const& damage() const { return state_->damage; }

 private:
  friend class TableScan;
  struct Close {
    void operator()(sqlite3* connection) const { sqlite3_close(connection); }
  };
  /// What the work on one table may be, so that pages which refer to each other in circles end.
  struct State {
    uint64_t file_bytes = 0, pages = 0, most_rows = 0, rows_read = 0;
    uint64_t operations_left = 0;
    std::vector<std::string> damage;
  };
  bool read_tables();
  /// Pages that were asked for so far.
  [[nodiscard]] uint64_t page_reads() const;

  std::unique_ptr<State> state_;  ///< first: SQLite refers to it
  std::unique_ptr<sqlite3, Close> connection_;
  std::map<std::string, std::vector<std::string>, std::less<>> tables_;  ///< columns by table
};

/// One pass over a table. What a column holds that it should not hold reads as SQLite converts it;
/// null reads as 0 or nothing.
class TableScan {
 public:
  /// A table or columns that are not there: no rows, and nulls. `condition`: SQL of ours over
  /// columns that are there.
  TableScan(Database& database, std::string_view table,
            std::initializer_list<std::string_view> columns, std::string_view condition = {});
  ~TableScan() { sqlite3_finalize(statement_); }
  TableScan(TableScan const&) = delete;
  TableScan& operator=(TableScan const&) = delete;

  /// To the next row; false at the end, or where the table is damaged: see Database::damage().
  bool next() {
    if (sqlite3_step(statement_) != SQLITE_ROW) [[unlikely]]
      return end();
    return ((++rows_ & kCheckMask) != 0 && text_bytes_ <= most_text_bytes_) || is_within_bounds();
  }
  [[nodiscard]] bool is_null(int column) const {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
  }
  [[nodiscard]] int64_t integer(int column) const {
    return sqlite3_column_int64(statement_, column);
  }
  [[nodiscard]] double real(int column) const { return sqlite3_column_double(statement_, column); }
  /// Valid until next(), or until the column is read in another way.
  [[nodiscard]] std::string_view text(int column);
  [[nodiscard]] base::ByteSpan blob(int column);

 private:
  static constexpr uint64_t kCheckMask = 0xFF;
  bool end();
  bool is_within_bounds();
  void note_damage(std::string_view why);

  Database& database_;
  std::string table_;
  sqlite3_stmt* statement_ = nullptr;
  uint64_t rows_ = 0, counted_rows_ = 0, text_bytes_ = 0;
  uint64_t most_text_bytes_;  ///< no byte of an honest file is read twice in one pass; UTF-16 grows
  bool is_over_ = false;
};

}  // namespace stepscope::import
