#include "trace/export/sqlite/sqlite_exporter.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include "trace/base/files/temporary.h"
#include "trace/export/sqlite/sqlite_schema.h"
#include "trace/model/tables.h"

namespace stepscope::exporting {
namespace {

using base::Expected;
using model::Cell;
using model::TableColumn;
using model::TableRows;
using model::TableSource;
using model::TraceTable;

struct Finalizer {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

/// The system's words say more than SQLite's, where it has some.
char const* why_not_opened(sqlite3* database) {
  if (database == nullptr) return "out of memory";
  int const error = sqlite3_system_errno(database);
  return error == 0 ? sqlite3_errmsg(database) : std::strerror(error);
}

/// A link stays, and what it leads to is replaced.
std::string behind_links(std::string const& path) {
  std::error_code error;
  auto const place = std::filesystem::canonical(path, error);
  return error ? path : place.string();
}

/// Rows of a table, put in many at once: half of what a row costs alone is the begin and end of its
/// statement.
class Insert {
 public:
  Insert() = default;
  /// False: sqlite3_errmsg() says why.
  bool prepare(sqlite3* database, std::string const& table, size_t columns) {
    columns_ = columns;
    cells_.reserve(columns * kRowsAtOnce);
    return prepare(database, insert_sql(table, columns, 1), one_) &&
           prepare(database, insert_sql(table, columns, kRowsAtOnce), many_);
  }
  /// The next cell of the row, from left to right. Its text lives until flush().
  Insert& add(Cell const& cell) {
    cells_.push_back(cell);
    return *this;
  }
  Insert& add(int64_t number) { return add(Cell::of(number)); }
  Insert& add_all(std::vector<TableColumn> const& columns, TableSource const& source,
                  uint32_t row) {
    for (TableColumn const& column : columns) add(column.read(source, row));
    return *this;
  }
  /// The row has all its cells. False: sqlite3_errmsg() says why.
  bool end_row() {
    return cells_.size() < columns_ * kRowsAtOnce || put_in(many_.get(), cells_.size());
  }
  /// All rows are in the table then. False: as above.
  bool flush() {
    while (!cells_.empty())
      if (!put_in(one_.get(), columns_)) return false;
    return true;
  }

 private:
  /// More gain nothing.
  static constexpr size_t kRowsAtOnce = 32;
  using Statement = std::unique_ptr<sqlite3_stmt, Finalizer>;

  static bool prepare(sqlite3* database, std::string const& sql, Statement& statement) {
    sqlite3_stmt* prepared = nullptr;
    int const result = sqlite3_prepare_v2(database, sql.c_str(), -1, &prepared, nullptr);
    statement.reset(prepared);
    return result == SQLITE_OK;
  }
  /// The first cells, as many as the statement takes.
  bool put_in(sqlite3_stmt* statement, size_t count) {
    for (size_t i = 0; i < count; ++i) bind(statement, static_cast<int>(i + 1), cells_[i]);
    cells_.erase(cells_.begin(), cells_.begin() + static_cast<ptrdiff_t>(count));
    bool const done = sqlite3_step(statement) == SQLITE_DONE;
    sqlite3_reset(statement);
    return done;
  }
  static void bind(sqlite3_stmt* statement, int at, Cell const& cell) {
    switch (cell.type) {
      case Cell::Type::kNull:
        sqlite3_bind_null(statement, at);
        break;
      case Cell::Type::kInteger:
        sqlite3_bind_int64(statement, at, cell.integer());
        break;

      case Cell::Type::kUnsigned:  // the nearest that SQLite has
        sqlite3_bind_double(statement, at, static_cast<double>(cell.bits));
        break;
      case Cell::Type::kReal:
        sqlite3_bind_double(statement, at, cell.real());
        break;
      case Cell::Type::kText:
        bind_text(statement, at, cell.text, SQLITE_STATIC);
        break;
      case Cell::Type::kAddress:
        bind_text(statement, at, model::to_text(cell), SQLITE_TRANSIENT);
        break;
    }
  }
  static void bind_text(sqlite3_stmt* statement, int at, std::string_view text,
                        sqlite3_destructor_type lifetime) {
    sqlite3_bind_text64(statement, at, text.data() == nullptr ? "" : text.data(), text.size(),
                        lifetime, SQLITE_UTF8);
  }

  Statement one_, many_;
  size_t columns_ = 0;
  std::vector<Cell> cells_;  ///< of rows that are not in the table yet
};

class SqliteExporter final : public Exporter {
 public:
  explicit SqliteExporter(std::string path)
      : path_(std::move(path)), target_(behind_links(path_)) {}

  Expected<void> open();
  Expected<void> add(model::Trace const& trace, int64_t offset_ns) override;
  Expected<void> finish() override;

 private:
  bool run(std::string const& sql) {
    return sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  }
  bool prepare();
  bool add_kinds();
  bool add_places(TableSource const& source);
  bool add_events(TableSource const& source);
  bool add_event(TableSource const& source, uint32_t row, int64_t name);
  bool flush();
  /// The key of a text as the tables show it; -1 = it could not be added.
  int64_t text_key(std::string_view text);
  [[nodiscard]] Expected<void> failed() const {
    return base::fail("{}: cannot write ({}), free disk space or choose another place with -o",
                      path_,
                      database_ == nullptr ? "out of memory" : sqlite3_errmsg(database_.get()));
  }

  std::string path_, target_;                    ///< as the user named it, and without links
  std::optional<base::TemporaryFolder> folder_;  ///< where the database is written
  std::string partial_;
  std::unique_ptr<sqlite3, Finalizer> database_;
  Insert text_, kind_, event_;
  struct Filled {
    TraceTable const* table;
    std::vector<TableColumn> columns;  ///< of its details, or all
    Insert insert;
  };
  std::vector<Filled> tables_;  ///< all but events
  std::vector<Filled*> by_detail_ = std::vector<Filled*>(model::kDetailTableCount);
  std::vector<TableColumn> event_columns_ = stored_event_columns();
  std::unordered_map<std::string, int64_t> text_keys_;
  int64_t processes_ = 0, tracks_ = 0, events_ = 0;
};

/// An empty file is an empty database. SQLite itself would give it the permissions 0644, whatever
/// the umask allows.
bool make_empty_file(std::string const& path) {
  int const fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  return fd >= 0 && ::close(fd) == 0;
}

Expected<void> SqliteExporter::open() {
  auto folder = base::TemporaryFolder::create(base::folder_of(target_));
  if (!folder) return base::fail("{}: cannot be made, {}", path_, folder.error().message);
  folder_.emplace(std::move(*folder));
  partial_ = folder_->path_of("run.sqlite");

  if (!make_empty_file(partial_))
    return base::fail("{}: cannot be made ({}), choose another place with -o", path_,
                      std::strerror(errno));

  sqlite3* opened = nullptr;
  int const result = sqlite3_open_v2(partial_.c_str(), &opened,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  database_.reset(opened);
  if (result != SQLITE_OK)
    return base::fail("{}: cannot be made ({}), choose another place with -o", path_,
                      why_not_opened(opened));

  // No program sees the file before it is whole: nothing has to be undone in it. Larger pages are
  // fewer to fill and to sort into. The indices are sorted in the cache: one of a few million rows
  // fits into 64 MiB, and needs no other files.
  bool const good =
      run("PRAGMA page_size=16384; PRAGMA cache_size=-65536; PRAGMA journal_mode=OFF; PRAGMA "
          "synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; BEGIN;") &&
      run(schema_sql()) && prepare() && add_kinds();
  return good ? Expected<void>{} : failed();
}

bool SqliteExporter::prepare() {
  sqlite3* const database = database_.get();
  for (TraceTable const& table : model::trace_tables()) {
    bool const has_details = table.detail != model::DetailTable::kNone;
    if (table.rows == TableRows::kEvents && !has_details) continue;
    Filled filled{&table, has_details ? detail_columns(table) : table.columns, {}};
    size_t const keys = table.rows == TableRows::kTracks ? 2 : 1;
    std::string const name = has_details ? data_table(table) : std::string(table.name);
    if (!filled.insert.prepare(database, name, keys + filled.columns.size())) return false;
    tables_.push_back(std::move(filled));
  }

  for (Filled& filled : tables_)
    if (filled.table->rows == TableRows::kEvents)
      by_detail_[static_cast<size_t>(filled.table->detail)] = &filled;

  return text_.prepare(database, "texts", 2) && kind_.prepare(database, "kinds", 3) &&
         event_.prepare(database, "event_data", 4 + event_columns_.size());
}

bool SqliteExporter::add_kinds() {
  constexpr std::array<std::string_view, 4> kClasses = {"", "compute", "comm", "copy"};
  for (int64_t kind = 0; kind < model::kKindCount; ++kind) {
    model::KindInfo const& info = model::kKindTable[static_cast<size_t>(kind)];
    auto const op_class = static_cast<size_t>(info.op_class);

    kind_.add(kind)
        .add(Cell::of(info.name))
        .add(op_class == 0 ? Cell{} : Cell::of(kClasses[op_class]));
    if (!kind_.end_row()) return false;
  }

  return kind_.flush();
}

int64_t SqliteExporter::text_key(std::string_view text) {
  auto const [found, is_new] =
      text_keys_.try_emplace(std::string(text), static_cast<int64_t>(text_keys_.size()) + 1);
  if (is_new && !text_.add(found->second).add(Cell::of(text)).end_row()) return -1;
  return found->second;
}

/// The process, its devices and its tracks.
bool SqliteExporter::add_places(TableSource const& source) {
  ++processes_;

  for (Filled& filled : tables_) {
    if (filled.table->rows == TableRows::kEvents) continue;
    for (uint32_t row = 0; row < filled.table->row_count(source.trace()); ++row) {
      if (filled.table->rows == TableRows::kTracks) filled.insert.add(tracks_ + row);
      if (!filled.insert.add(processes_).add_all(filled.columns, source, row).end_row())
        return false;
    }
  }

  return true;
}

bool SqliteExporter::add_event(TableSource const& source, uint32_t row, int64_t name) {
  model::Trace const& trace = source.trace();
  int64_t const track = tracks_ + trace.columns().track[row].value;
  event_.add(++events_)
      .add(track)
      .add(static_cast<int64_t>(trace.kind(row)))
      .add(name)
      .add_all(event_columns_, source, row);
  if (!event_.end_row()) return false;

  model::DetailTable const detail = model::kind_info(trace.kind(row)).table;
  if (detail == model::DetailTable::kNone) return true;
  Filled& filled = *by_detail_[static_cast<size_t>(detail)];
  return filled.insert.add(events_).add_all(filled.columns, source, row).end_row();
}

bool SqliteExporter::add_events(TableSource const& source) {
  model::Trace const& trace = source.trace();
  std::vector<int64_t> names(trace.strings().size());  // of the texts that were met
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    model::StringId const name = trace.columns().name[row];
    int64_t& key = names[name.value];
    if (key == 0) key = text_key(source.text(name));
    if (key < 0 || !add_event(source, row, key)) return false;
  }
  return true;
}

/// What refers to texts of the trace is in the tables then.
bool SqliteExporter::flush() {
  bool good = text_.flush() && event_.flush();
  for (Filled& filled : tables_) good = good && filled.insert.flush();
  return good;
}

Expected<void> SqliteExporter::add(model::Trace const& trace, int64_t offset_ns) {
  TableSource const source(trace, offset_ns);
  if (!add_places(source) || !add_events(source) || !flush()) return failed();
  tracks_ += static_cast<int64_t>(trace.tracks().size());
  return {};
}

Expected<void> SqliteExporter::finish() {
  // A look at some rows tells the planner which table of a view is the large one.
  if (!run(index_sql()) || !run("COMMIT; PRAGMA analysis_limit=1000; ANALYZE;")) return failed();
  tables_.clear();
  for (Insert* const statement : {&text_, &kind_, &event_}) *statement = Insert();
  if (sqlite3_close(database_.get()) != SQLITE_OK) return failed();
  static_cast<void>(database_.release());
  if (std::rename(partial_.c_str(), target_.c_str()) != 0)
    return base::fail("{}: cannot write ({}), choose another place with -o", path_,
                      std::strerror(errno));
  return {};
}

}  // namespace

Expected<std::unique_ptr<Exporter>> open_sqlite(std::string const& path) {
  std::error_code ignored;
  if (path.ends_with('/') || std::filesystem::is_directory(path, ignored))
    return base::fail("{}: is a folder, name the file to write there, such as -o {}", path,
                      (std::filesystem::path(path) / "run.sqlite").string());
  auto exporter = std::make_unique<SqliteExporter>(path);
  if (auto const opened = exporter->open(); !opened) return base::fail_with(opened);
  return exporter;
}

}  // namespace stepscope::exporting
