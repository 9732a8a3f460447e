// What is switched off, and why it is enough: docs/design/decisions/0012-nsight-systems.md; after
// "Defense Against The Dark Arts" of SQLite's documentation.
#include "trace/import/common/database/database.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "trace/base/format.h"

namespace stepscope::import {
namespace {

/// A row takes at least a pointer of two bytes and a cell of four.
constexpr uint64_t kLeastRowBytes = 6;
/// A pass asks for every page of a table once, and for a few again; this many passes over the whole
/// file are no honest one.
constexpr uint64_t kMostPasses = 8;
constexpr uint64_t kFewPages = 100'000;
/// Instructions of SQLite's machine: far more than the passes over all tables take.
constexpr uint64_t kOperationsARow = 100;
constexpr uint64_t kFewOperations = 20'000'000;
constexpr int kOperationsBetweenChecks = 100'000;
/// The longest value; the output of a program can be a text.
constexpr int kMostValueBytes = 1 << 26;
/// SQLite's own default.
constexpr int kMostParsedSelects = 500;

int is_endless(void* left) {
  auto& operations_left = *static_cast<uint64_t*>(left);
  if (operations_left < kOperationsBetweenChecks) return 1;
  operations_left -= kOperationsBetweenChecks;
  return 0;
}

std::string quoted_name(std::string_view name) {
  std::string text = "\"";
  for (char const c : name) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + "\"";
}

bool run(sqlite3* connection, char const* sql) {
  return sqlite3_exec(connection, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

/// Before anything of the file is read.
bool make_safe(sqlite3* connection) {
  for (auto const& [option, value] :
       {std::pair(SQLITE_DBCONFIG_DEFENSIVE, 1), std::pair(SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
        std::pair(SQLITE_DBCONFIG_ENABLE_TRIGGER, 0), std::pair(SQLITE_DBCONFIG_ENABLE_VIEW, 0),
        std::pair(SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0)})
    if (sqlite3_db_config(connection, option, value, nullptr) != SQLITE_OK) return false;

  sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, kMostValueBytes);
  sqlite3_limit(connection, SQLITE_LIMIT_EXPR_DEPTH, 50);
  // Views are never used, but a schema with one that SQLite cannot parse does not open: rocpd has
  // views over many tables.
  sqlite3_limit(connection, SQLITE_LIMIT_COMPOUND_SELECT, kMostParsedSelects);
  sqlite3_limit(connection, SQLITE_LIMIT_WORKER_THREADS, 0);

  return run(connection, "PRAGMA cell_size_check=ON") && run(connection, "PRAGMA query_only=ON") &&
         run(connection, "PRAGMA temp_store=MEMORY");
}

/// A statement for a while.
class Statement {
 public:
  Statement(sqlite3* connection, std::string const& sql) {
    sqlite3_prepare_v2(connection, sql.c_str(), static_cast<int>(sql.size()), &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(Statement const&) = delete;
  Statement& operator=(Statement const&) = delete;
  bool next() { return (result_ = sqlite3_step(statement_)) == SQLITE_ROW; }
  [[nodiscard]] bool is_done() const { return result_ == SQLITE_DONE; }
  [[nodiscard]] std::string text(int column) const {
    auto const* const text = reinterpret_cast<char const*>(sqlite3_column_text(statement_, column));
    return text == nullptr
               ? std::string()
               : std::string(text, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
  }
  [[nodiscard]] int64_t integer(int column) const {
    return sqlite3_column_int64(statement_, column);
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int result_ = SQLITE_ERROR;
};

}  // namespace

base::Expected<Database> Database::open(base::ByteSpan bytes, std::string const& name,
                                        uint64_t most_rows) {
  Database database;
  database.state_ = std::make_unique<State>();
  State& state = *database.state_;
  state.file_bytes = bytes.size();
  state.pages = bytes.size() / 512;  // at most
  state.most_rows = most_rows;
  state.operations_left = kFewOperations + bytes.size() / kLeastRowBytes * kOperationsARow;

  sqlite3* connection = nullptr;
  int const opened = sqlite3_open_v2(":memory:", &connection,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  database.connection_.reset(connection);
  if (opened != SQLITE_OK)
    return base::fail("{}: out of memory, close other programs or use a larger machine", name);

  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): a read-only database does not write
  auto* const data =
      const_cast<unsigned char*>(reinterpret_cast<unsigned char const*>(bytes.data()));

  auto const size = static_cast<sqlite3_int64>(bytes.size());
  int const attached =
      sqlite3_deserialize(connection, "main", data, size, size, SQLITE_DESERIALIZE_READONLY);
  if (attached != SQLITE_OK || !make_safe(connection))
    return base::fail("{}: cannot be opened ({}), export it again", name,
                      sqlite3_errmsg(connection));

  sqlite3_progress_handler(connection, kOperationsBetweenChecks, is_endless,
                           &state.operations_left);
  if (!database.read_tables())
    return base::fail(
        "{}: is cut off or damaged, its tables cannot be found ({}), export or copy it again", name,
        base::printable(sqlite3_errmsg(connection)));

  return database;
}

bool Database::read_tables() {
  // A definition that begins otherwise does not define a table, whatever the file states.
  Statement names(connection_.get(),
                  "SELECT name FROM sqlite_schema WHERE type='table' AND rootpage>0 AND sql GLOB "
                  "'CREATE TABLE *'");
  std::vector<std::string> found;
  while (names.next()) found.push_back(names.text(0));
  if (!names.is_done()) return false;

  for (std::string const& table : found) {
    bool const is_table =
        sqlite3_table_column_metadata(connection_.get(), "main", table.c_str(), nullptr, nullptr,
                                      nullptr, nullptr, nullptr, nullptr) == SQLITE_OK;
    if (!is_table) continue;

    Statement columns(connection_.get(), "PRAGMA main.table_xinfo(" + quoted_name(table) + ")");
    std::vector<std::string>& known = tables_[table];
    constexpr int kName = 1, kHidden = 6;
    while (columns.next())
      if (columns.integer(kHidden) == 0)
        known.push_back(columns.text(kName));  // else it is computed
  }

  return true;
}

bool Database::has(std::string_view table, std::string_view column) const {
  auto const found = tables_.find(table);
  return found != tables_.end() &&
         std::find(found->second.begin(), found->second.end(), column) != found->second.end();
}

std::vector<std::string_view> Database::tables() const {
  std::vector<std::string_view> names;
  for (auto const& [name, columns] : tables_) names.push_back(name);
  return names;
}

bool Database::has_rows(std::string_view table) {
  if (!has(table)) return false;
  return Statement(connection_.get(),
                   "SELECT 1 FROM main." + quoted_name(table) + " NOT INDEXED LIMIT 1")
      .next();
}

uint64_t Database::page_reads() const {
  uint64_t reads = 0;
  for (int const counter : {SQLITE_DBSTATUS_CACHE_HIT, SQLITE_DBSTATUS_CACHE_MISS}) {
    int current = 0, highest = 0;
    sqlite3_db_status(connection_.get(), counter, &current, &highest, 0);
    reads += static_cast<uint32_t>(current);
  }
  return reads;
}

TableScan::TableScan(Database& database, std::string_view table,
                     std::initializer_list<std::string_view> columns, std::string_view condition)
    : database_(database), table_(table), most_text_bytes_(2 * database.state_->file_bytes) {
  if (!database.has(table)) return;

  std::string sql = "SELECT ";
  for (std::string_view const column : columns) {
    if (column.data() != columns.begin()->data()) sql += ',';
    sql += database.has(table, column) ? quoted_name(column) : "NULL";
  }
  sql += " FROM main." + quoted_name(table) + " NOT INDEXED";
  if (!condition.empty()) sql += " WHERE " + std::string(condition);

  // Counters of SQLite have 32 bits: from here on they begin anew.
  for (int const counter : {SQLITE_DBSTATUS_CACHE_HIT, SQLITE_DBSTATUS_CACHE_MISS}) {
    int current = 0, highest = 0;
    sqlite3_db_status(database.connection_.get(), counter, &current, &highest, 1);
  }

  sqlite3* const connection = database.connection_.get();
  if (sqlite3_prepare_v2(connection, sql.c_str(), static_cast<int>(sql.size()), &statement_,
                         nullptr) != SQLITE_OK)
    note_damage(sqlite3_errmsg(connection));
}

std::string_view TableScan::text(int column) {
  auto const* const text = reinterpret_cast<char const*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return {};
  auto const size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  text_bytes_ += size;
  return {text, size};
}

base::ByteSpan TableScan::blob(int column) {
  auto const* const blob = static_cast<std::byte const*>(sqlite3_column_blob(statement_, column));
  if (blob == nullptr) return {};
  auto const size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  text_bytes_ += size;
  return {blob, size};
}

bool TableScan::end() {
  if (is_over_ || statement_ == nullptr) return false;
  is_over_ = true;
  database_.state_->rows_read += rows_ - counted_rows_;
  sqlite3* const connection = database_.connection_.get();
  if (int const code = sqlite3_errcode(connection); code != SQLITE_DONE && code != SQLITE_OK)
    note_damage(sqlite3_errmsg(connection));
  return false;
}

bool TableScan::is_within_bounds() {
  Database::State& state = *database_.state_;
  state.rows_read += rows_ - std::exchange(counted_rows_, rows_);
  if (database_.is_too_much()) return !(is_over_ = true);

  bool const is_honest = rows_ <= state.file_bytes / kLeastRowBytes &&
                         text_bytes_ <= most_text_bytes_ &&
                         database_.page_reads() <= kFewPages + kMostPasses * state.pages;

  if (is_honest) return true;
  is_over_ = true;
  note_damage("it has more rows than the file can hold");
  return false;
}

/// One note a table: the last pass over it is the one that takes its rows.
void TableScan::note_damage(std::string_view why) {
  std::string const table = fmt::format("table {} is damaged behind row ", base::printable(table_));
  std::string note =
      fmt::format("{}{} ({}): what follows is missing", table, rows_, base::printable(why));

  auto& notes = database_.state_->damage;
  auto const known = std::find_if(notes.begin(), notes.end(), [&](std::string const& other) {
    return other.starts_with(table);
  });

  if (known == notes.end())
    notes.push_back(std::move(note));
  else
    *known = std::move(note);
}

}  // namespace stepscope::import
