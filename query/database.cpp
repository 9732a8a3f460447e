#include "query/database.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <sqlite3.h>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "query/groups.h"
#include "query/part.h"
#include "query/rewrite.h"
#include "query/schema.h"
#include "query/tables/event_table.h"
#include "query/tables/fact_tables.h"
#include "query/tables/rows_table.h"

namespace stepscope::query {
namespace {

using model::Cell;

struct Closer {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Connection = std::unique_ptr<sqlite3, Closer>;
using Statement = std::unique_ptr<sqlite3_stmt, Closer>;

/// The run is read: no files, no settings, nothing that stays.
int authorize(void*, int action, char const*, char const* function, char const*, char const*) {
  bool const reads = action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE;
  bool const calls = action == SQLITE_FUNCTION &&
                     (function == nullptr || sqlite3_stricmp(function, "load_extension") != 0);
  return reads || calls ? SQLITE_OK : SQLITE_DENY;
}

Connection open_connection() {
  sqlite3* opened = nullptr;
  int const result =
      sqlite3_open_v2(":memory:", &opened,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, nullptr);
  Connection connection(opened);
  if (result != SQLITE_OK) return nullptr;

  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  sqlite3_limit(opened, SQLITE_LIMIT_ATTACHED, 0);

  return connection;
}

constexpr char const* kOnlySelect = "only SELECT is possible: Stepscope never writes to a run";

QueryError error_of(sqlite3* database) {
  if (sqlite3_errcode(database) == SQLITE_AUTH) return {kOnlySelect, std::nullopt};
  if (sqlite3_errcode(database) == SQLITE_INTERRUPT)
    return {"it was stopped before its end, ask for less", std::nullopt};
  QueryError error{with_near_names(sqlite3_errmsg(database)), std::nullopt};
  if (int const offset = sqlite3_error_offset(database); offset >= 0)
    error.offset = static_cast<size_t>(offset);
  return error;
}

tl::expected<Statement, QueryError> prepare(sqlite3* database, std::string const& sql) {
  sqlite3_stmt* prepared = nullptr;
  char const* tail = nullptr;
  int const result =
      sqlite3_prepare_v2(database, sql.c_str(), static_cast<int>(sql.size() + 1), &prepared, &tail);
  Statement statement(prepared);

  if (result != SQLITE_OK) return tl::unexpected(error_of(database));
  if (statement == nullptr)
    return tl::unexpected(QueryError{"the statement is empty, write a SELECT", std::nullopt});

  // What the authorizer has nothing to say about (REINDEX).
  bool const answers =
      sqlite3_stmt_readonly(statement.get()) != 0 && sqlite3_column_count(statement.get()) > 0;
  if (!answers) return tl::unexpected(QueryError{kOnlySelect, std::nullopt});
  // SQLite takes parameters without values as NULL: an answer to another question.
  if (sqlite3_bind_parameter_count(statement.get()) > 0)
    return tl::unexpected(QueryError{
        "parameters (?, :x, @x, $x) have no values here, write the value itself", std::nullopt});

  // The rest must be blanks and comments: SQLite compiles them to no statement.
  auto const offset = static_cast<size_t>(tail - sql.c_str());
  sqlite3_stmt* second = nullptr;
  bool const more =
      sqlite3_prepare_v2(database, tail, -1, &second, nullptr) != SQLITE_OK || second != nullptr;
  sqlite3_finalize(second);
  if (more) return tl::unexpected(QueryError{"more than one statement, ask one at a time", offset});

  return statement;
}

/// Text of a value in the current row. A blob is shown as SQL writes it.
Cell cell_of(sqlite3_stmt* statement, int column, std::string& blob) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return Cell::of(int64_t{sqlite3_column_int64(statement, column)});
    case SQLITE_FLOAT:
      return Cell::of(sqlite3_column_double(statement, column));

    case SQLITE_TEXT: {
      auto const* const text =
          reinterpret_cast<char const*>(sqlite3_column_text(statement, column));
      auto const size = static_cast<size_t>(sqlite3_column_bytes(statement, column));
      return text == nullptr ? Cell{} : Cell::of(std::string_view(text, size));
    }

    case SQLITE_BLOB: {
      auto const* const bytes =
          static_cast<unsigned char const*>(sqlite3_column_blob(statement, column));
      auto const size = static_cast<size_t>(sqlite3_column_bytes(statement, column));
      blob = "x'";
      for (size_t i = 0; i < size; ++i) blob += fmt::format("{:02x}", bytes[i]);
      blob += "'";
      return Cell::of(std::string_view(blob));
    }

    default:
      return {};
  }
}

tl::expected<uint64_t, QueryError> step_through(sqlite3* database, sqlite3_stmt* statement,
                                                RowSink& sink) {
  auto const count = static_cast<size_t>(sqlite3_column_count(statement));
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    char const* const name = sqlite3_column_name(statement, static_cast<int>(i));
    names.emplace_back(name == nullptr ? "" : name);
  }

  std::vector<Cell> cells(count);
  std::vector<std::string> blobs(count);
  uint64_t rows = 0;

  int result = sqlite3_step(statement);
  if (result == SQLITE_ROW || result == SQLITE_DONE) sink.begin(names);
  for (; result == SQLITE_ROW; result = sqlite3_step(statement)) {
    for (size_t i = 0; i < count; ++i) cells[i] = cell_of(statement, static_cast<int>(i), blobs[i]);
    ++rows;
    if (!sink.row(cells)) return rows;
  }

  if (result != SQLITE_DONE) return tl::unexpected(error_of(database));
  return rows;
}

/// Holds the bounds of a statement, and takes them off the connection again.
class Bounds {
 public:
  Bounds(sqlite3* database, QueryOptions const& options)
      : database_(database),
        longest_(sqlite3_limit(database, SQLITE_LIMIT_LENGTH, options.longest_value_bytes)) {
    constexpr int kInstructions = 10'000;  // a fraction of a millisecond
    if (options.is_given_up)
      sqlite3_progress_handler(database, kInstructions, is_over,
                               const_cast<QueryOptions*>(&options));
  }
  Bounds(Bounds const&) = delete;
  Bounds& operator=(Bounds const&) = delete;
  ~Bounds() {
    sqlite3_progress_handler(database_, 0, nullptr, nullptr);
    sqlite3_limit(database_, SQLITE_LIMIT_LENGTH, longest_);
  }

 private:
  static int is_over(void* options) {
    return static_cast<QueryOptions const*>(options)->is_given_up() ? 1 : 0;
  }

  sqlite3* database_;
  int longest_;
};

}  // namespace

struct Database::State {
  State(model::Run const& of, Part const& of_part, Processes its)
      : run(&of), part(of_part), processes(std::move(its)) {}

  model::Run const* run;
  Part part;
  Processes processes;
  std::optional<analyzer::Analysis> analysis;  ///< when it is first asked for
  std::vector<std::unique_ptr<VirtualTable>> tables;
  uint64_t group_tables = 0;
  Connection connection;  ///< the last: it is closed before the tables go

  analyzer::Analysis const& analyzed() {
    if (!analysis) analysis = analyzer::analyze(*run, part.analyze_options());
    return *analysis;
  }
  void add(std::string const& name, std::unique_ptr<VirtualTable> table);
  void add_tables();
  Statement prepare_over(Rewritten const& rewritten, std::string const& name, Rows rows);
  Statement prepare_over_groups(std::string const& sql);
  [[nodiscard]] std::string new_group_table() {
    return fmt::format("stepscope_groups_{}", ++group_tables);
  }
};

/// What a table declares is a CREATE TABLE to SQLite, which the authorizer would not let pass: it
/// is declared before.
void Database::State::add(std::string const& name, std::unique_ptr<VirtualTable> table) {
  sqlite3_set_authorizer(connection.get(), nullptr, nullptr);
  add_table(connection.get(), name, *table);
  tables.push_back(std::move(table));
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(connection.get(), ("SELECT 1 FROM " + quoted_identifier(name)).c_str(), -1,
                     &statement, nullptr);
  sqlite3_finalize(statement);
  sqlite3_set_authorizer(connection.get(), authorize, nullptr);
}

void Database::State::add_tables() {
  for (model::TraceTable const& table : model::trace_tables())
    add(std::string(table.name), std::make_unique<EventTable>(processes, table));

  for (FactTable const& table : fact_tables()) {
    std::vector<VirtualColumn> columns;
    for (FactColumn const& column : table.columns)
      columns.push_back({std::string(column.name), column.type});
    add(std::string(table.name), std::make_unique<RowsTable>(columns, [this, &table] {
          Rows rows(table.columns.size());
          table.fill(*run, analyzed(), rows);
          return rows;
        }));
  }
}

/// `rows`: those of group_events(), for the table that has this name in the new statement.
Statement Database::State::prepare_over(Rewritten const& rewritten, std::string const& name,
                                        Rows rows) {
  auto const shared = std::make_shared<Rows>(std::move(rows));
  add(name, std::make_unique<RowsTable>(group_columns(rewritten.plan),
                                        [shared] { return std::move(*shared); }));

  auto statement = prepare(connection.get(), rewritten.sql);
  return statement ? std::move(*statement) : nullptr;
}

namespace {

using ReadColumns = std::set<std::pair<std::string, std::string>>;  ///< table and column

bool is_same_name(std::string_view name, std::string const& written) {
  return name.size() == written.size() &&
         sqlite3_strnicmp(name.data(), written.c_str(), static_cast<int>(name.size())) == 0;
}

/// Whether a column is in a table of the trace, or is the id of an event there.
bool has_events(ReadColumns const& columns) {
  auto const traces = model::trace_tables();
  auto const facts = fact_tables();
  return std::any_of(columns.begin(), columns.end(), [&](auto const& read) {
    std::string const& table = read.first;
    std::string const& column = read.second;
    if (std::any_of(traces.begin(), traces.end(),
                    [&](auto const& each) { return is_same_name(each.name, table); }))
      return true;

    auto const fact = std::find_if(facts.begin(), facts.end(), [&](FactTable const& each) {
      return is_same_name(each.name, table);
    });
    return fact != facts.end() &&
           std::any_of(fact->columns.begin(), fact->columns.end(), [&](FactColumn const& each) {
             return each.is_event && is_same_name(each.name, column);
           });
  });
}

}  // namespace

/// Returns nothing for a statement that is not rewritten.
Statement Database::State::prepare_over_groups(std::string const& sql) {
  std::string const name = new_group_table();
  auto const rewritten = rewrite(sql, name);
  auto rows = rewritten ? group_events(processes, rewritten->plan) : std::nullopt;
  return rows ? prepare_over(*rewritten, name, std::move(*rows)) : nullptr;
}

tl::expected<Reads, QueryError> Database::reads_of(std::string const& sql) {
  model::Run const none;
  auto const database = open(none);
  if (!database) return tl::unexpected(QueryError{database.error().message, std::nullopt});

  // SQLite asks for each column that the statement reads, and for tables without columns, too.
  ReadColumns columns;
  auto const note = [](void* noted, int action, char const* table, char const* column,
                       char const* schema, char const* trigger) {
    if (action == SQLITE_READ && table != nullptr)
      static_cast<ReadColumns*>(noted)->emplace(table, column == nullptr ? "" : column);
    return authorize(nullptr, action, table, column, schema, trigger);
  };
  sqlite3* const connection = database->state_->connection.get();
  sqlite3_set_authorizer(connection, note, &columns);
  auto const statement = prepare(connection, sql);
  if (!statement) return tl::unexpected(statement.error());

  std::string const sums = database->state_->new_group_table();
  auto const rewritten = rewrite(sql, sums);
  if (rewritten && database->state_->prepare_over(*rewritten, sums, Rows(1))) return Reads::kSums;
  // How a statement is computed, and what reads no table, needs no analysis.
  bool const is_answer = sqlite3_stmt_isexplain(statement->get()) == 0 && !columns.empty();
  return is_answer && !has_events(columns) ? Reads::kAnalysis : Reads::kEvents;
}

base::Expected<Database> Database::open(model::Run const& run) { return open(run, Part()); }

base::Expected<Database> Database::open(model::Run const& run, analyzer::Analysis analysis) {
  auto opened = open(run);
  if (opened) opened->state_->analysis = std::move(analysis);
  return opened;
}

base::Expected<Database> Database::open(model::Run const& run, Part const& part) {
  auto processes = processes_of(run, part);
  if (!processes) return base::fail_with(processes);

  auto state = std::make_unique<State>(run, part, std::move(*processes));
  if (part.steps)
    if (auto const kept = keep_steps(state->processes, run, state->analyzed(), part); !kept)
      return base::fail_with(kept);

  state->connection = open_connection();
  if (state->connection == nullptr) return base::fail("SQLite cannot begin, free some memory");
  state->add_tables();
  return Database(std::move(state));
}

std::optional<std::pair<int64_t, int64_t>> Database::chosen_steps() const {
  if (!state_->part.steps || !state_->analysis) return std::nullopt;
  std::optional<std::pair<int64_t, int64_t>> range;
  for (analyzer::StepStats const& step : state_->analysis->steps)
    range = range ? std::pair(std::min(range->first, step.step), std::max(range->second, step.step))
                  : std::pair(step.step, step.step);
  return range;
}

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

tl::expected<uint64_t, QueryError> Database::run(std::string const& sql, RowSink& sink,
                                                 QueryOptions const& options) {
  sqlite3* const connection = state_->connection.get();
  Bounds const bounds(connection, options);
  // The original text comes first, so that errors refer to it.
  auto statement = prepare(connection, sql);
  if (!statement) return tl::unexpected(statement.error());
  if (options.rewrite)
    if (Statement over_groups = state_->prepare_over_groups(sql))
      *statement = std::move(over_groups);
  return step_through(connection, statement->get(), sink);
}

tl::expected<uint64_t, QueryError> Database::run_over(Rows sums, std::string const& sql,
                                                      RowSink& sink, QueryOptions const& options) {
  sqlite3* const connection = state_->connection.get();
  Bounds const bounds(connection, options);
  std::string const name = state_->new_group_table();
  auto const rewritten = rewrite(sql, name);
  Statement const statement =
      rewritten ? state_->prepare_over(*rewritten, name, std::move(sums)) : nullptr;
  if (!statement) return tl::unexpected(QueryError{"it asks for no sums", std::nullopt});
  return step_through(connection, statement.get(), sink);
}

}  // namespace stepscope::query
