#include "query/tables/virtual_table.h"

#include <cstring>
#include <exception>
#include <new>

namespace stepscope::query {
namespace {

struct OpenTable : sqlite3_vtab {
  VirtualTable* table = nullptr;
};
struct OpenCursor : sqlite3_vtab_cursor {
  std::unique_ptr<Cursor> cursor;
};

/// SQLite's codes for what may be thrown here.
template <class Work>
int without_exceptions(Work const& work) {
  try {
    work();
    return SQLITE_OK;
  } catch (std::bad_alloc const&) {
    return SQLITE_NOMEM;
  } catch (std::exception const&) {
    return SQLITE_ERROR;
  }
}

char const* type_name(model::ColumnType type) {
  switch (type) {
    case model::ColumnType::kInteger:
      return "INTEGER";
    case model::ColumnType::kReal:
      return "REAL";
    case model::ColumnType::kText:
      return "TEXT";
    case model::ColumnType::kNumber:
      return "NUMERIC";
  }
  return "";
}

int connect(sqlite3* database, void* context, int, char const* const*, sqlite3_vtab** result,
            char**) {
  int declared = SQLITE_OK;
  int const made = without_exceptions([&] {
    auto* const table = static_cast<VirtualTable*>(context);
    std::string declaration;
    for (VirtualColumn const& column : table->columns()) {
      declaration += declaration.empty() ? "CREATE TABLE t(" : ",";
      declaration += quoted_identifier(column.name) + " " + type_name(column.type);
    }
    declaration += ")";

    auto open = std::make_unique<OpenTable>();
    open->table = table;
    declared = sqlite3_declare_vtab(database, declaration.c_str());
    if (declared == SQLITE_OK) *result = open.release();
  });

  return made == SQLITE_OK ? declared : made;
}

int disconnect(sqlite3_vtab* table) {
  delete static_cast<OpenTable*>(table);
  return SQLITE_OK;
}

int best_index(sqlite3_vtab* table, sqlite3_index_info* info) {
  return without_exceptions([&] { static_cast<OpenTable*>(table)->table->best_index(*info); });
}

int open_cursor(sqlite3_vtab* table, sqlite3_vtab_cursor** result) {
  return without_exceptions([&] {
    auto open = std::make_unique<OpenCursor>();
    open->cursor = static_cast<OpenTable*>(table)->table->open();
    *result = open.release();
  });
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
  delete static_cast<OpenCursor*>(cursor);
  return SQLITE_OK;
}

Cursor& of(sqlite3_vtab_cursor* cursor) { return *static_cast<OpenCursor*>(cursor)->cursor; }

int filter(sqlite3_vtab_cursor* cursor, int, char const* plan, int count, sqlite3_value** values) {
  return without_exceptions([&] {
    of(cursor).start(plan == nullptr ? "" : plan, {values, static_cast<size_t>(count)});
  });
}

int next(sqlite3_vtab_cursor* cursor) {
  return without_exceptions([&] { of(cursor).next(); });
}

int at_end(sqlite3_vtab_cursor* cursor) { return of(cursor).at_end() ? 1 : 0; }

int column(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int index) {
  model::Cell const cell = of(cursor).column(static_cast<size_t>(index));
  switch (cell.type) {
    case model::Cell::Type::kNull:
      sqlite3_result_null(context);
      break;
    case model::Cell::Type::kInteger:
      sqlite3_result_int64(context, cell.integer());

      break;
    case model::Cell::Type::kUnsigned:  // the nearest that SQL has
      sqlite3_result_double(context, static_cast<double>(cell.bits));
      break;
    case model::Cell::Type::kReal:
      sqlite3_result_double(context, cell.real());
      break;
    case model::Cell::Type::kText:
      sqlite3_result_text64(context, cell.text.data() == nullptr ? "" : cell.text.data(),
                            cell.text.size(), SQLITE_STATIC, SQLITE_UTF8);
      break;

    case model::Cell::Type::kAddress:
      return without_exceptions([&] {
        std::string const text = model::to_text(cell);
        sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
      });
  }
  return SQLITE_OK;
}

int row_id(sqlite3_vtab_cursor* cursor, sqlite3_int64* result) {
  *result = of(cursor).row_id();
  return SQLITE_OK;
}

/// Without xCreate: the table is there under its module's name and no other can be made.
constexpr sqlite3_module kModule = [] {
  sqlite3_module module{};

  module.iVersion = 0;
  module.xConnect = connect;
  module.xBestIndex = best_index;
  module.xDisconnect = disconnect;
  module.xDestroy = disconnect;

  module.xOpen = open_cursor;
  module.xClose = close_cursor;
  module.xFilter = filter;
  module.xNext = next;
  module.xEof = at_end;
  module.xColumn = column;
  module.xRowid = row_id;

  return module;
}();

}  // namespace

void add_table(sqlite3* database, std::string const& name, VirtualTable& table) {
  sqlite3_create_module_v2(database, name.c_str(), &kModule, &table, nullptr);
}

void give_plan(sqlite3_index_info& info, std::string const& plan) {
  auto* const text = static_cast<char*>(sqlite3_malloc64(plan.size() + 1));
  if (text == nullptr) return;
  std::memcpy(text, plan.c_str(), plan.size() + 1);
  info.idxStr = text;
  info.needToFreeIdxStr = 1;
}

std::string quoted_identifier(std::string_view name) {
  std::string quoted = "\"";
  for (char const c : name) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace stepscope::query
