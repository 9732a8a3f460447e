#include "query/tables/event_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

namespace stepscope::query {
namespace {

using model::Cell;
using model::ColumnOf;
using model::ColumnType;
using model::TableColumn;
using model::TableRows;

/// What a scan can do with conditions on a column.
enum class Use : uint8_t { kNone, kEqual, kRange };

Use use_of(model::TraceTable const& table, TableColumn const& column) {
  if (table.rows != TableRows::kEvents) return Use::kNone;
  if (column.of == ColumnOf::kProcess || column.of == ColumnOf::kTrack) return Use::kEqual;
  if (column.of == ColumnOf::kDetail) return Use::kNone;
  if (column.name == "start_ns" || column.name == "end_ns" || column.name == "dur_ns")
    return Use::kRange;
  bool const found = column.name == "id" || column.name == "correlation" || column.name == "kind" ||
                     column.name == "name";
  return found ? Use::kEqual : Use::kNone;
}

char operator_of(unsigned char op) {
  switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
      return '=';
    case SQLITE_INDEX_CONSTRAINT_GT:
      return '>';
    case SQLITE_INDEX_CONSTRAINT_GE:
      return 'g';
    case SQLITE_INDEX_CONSTRAINT_LT:
      return '<';
    case SQLITE_INDEX_CONSTRAINT_LE:
      return 'l';
    default:
      return '\0';
  }
}

/// Narrows a range to what fulfils the condition.
void narrow(EventFilter::Range& range, char op, int64_t value) {
  bool const is_low = op == '>' || op == 'g' || op == '=';
  bool const is_high = op == '<' || op == 'l' || op == '=';
  if (is_low) range.low = std::max(range.low, op == '>' && value != INT64_MAX ? value + 1 : value);
  if (is_high)
    range.high = std::min(range.high, op == '<' && value != INT64_MIN ? value - 1 : value);
}

void narrow(EventFilter::Range& range, char op, double value) {
  constexpr double kLimit = 9.2e18;  // below 2^63, with room for rounding
  bool const is_low = op == '>' || op == 'g' || op == '=';
  bool const is_high = op == '<' || op == 'l' || op == '=';
  if (value == std::floor(value) && std::fabs(value) < kLimit)
    return narrow(range, op, static_cast<int64_t>(value));
  if (is_low && value > -kLimit)
    narrow(range, 'g', value > kLimit ? INT64_MAX : static_cast<int64_t>(std::ceil(value)));
  if (is_high && value < kLimit)
    narrow(range, 'l', value < -kLimit ? INT64_MIN : static_cast<int64_t>(std::floor(value)));
}

std::string text_of(sqlite3_value* value) {
  auto const* const text = reinterpret_cast<char const*>(sqlite3_value_text(value));
  return text == nullptr ? std::string()
                         : std::string(text, static_cast<size_t>(sqlite3_value_bytes(value)));
}

/// A whole number, also one that is written as 1e3 or '1000', which SQLite compares as such; else
/// nothing.
std::optional<int64_t> integer_of(sqlite3_value* value) {
  int const type = sqlite3_value_numeric_type(value);
  if (type == SQLITE_INTEGER) return sqlite3_value_int64(value);
  double const number = type == SQLITE_FLOAT ? sqlite3_value_double(value) : 0.5;
  constexpr double kLimit = 9.2e18;
  return number == std::floor(number) && std::fabs(number) < kLimit
             ? std::optional(static_cast<int64_t>(number))
             : std::nullopt;
}

/// Applies one condition of the plan. A value of an unexpected type (text for numbers) is left to
/// SQLite. SQLite knew the column's type when it planned, and skips its own check only for values
/// of that type.
void add_condition(EventFilter& filter, TableColumn const& column, Use use, char op,
                   sqlite3_value* value) {
  bool const is_text = column.type == ColumnType::kText;
  int const type = is_text ? sqlite3_value_type(value) : sqlite3_value_numeric_type(value);
  if (type == SQLITE_NULL) filter.nothing = true;  // nothing compares with NULL

  if (use == Use::kRange) {
    EventFilter::Range& range = filter.range_of(column.name);
    if (type == SQLITE_INTEGER) narrow(range, op, int64_t{sqlite3_value_int64(value)});
    if (type == SQLITE_FLOAT) narrow(range, op, sqlite3_value_double(value));
    return;
  }

  auto const number = is_text ? std::nullopt : integer_of(value);
  if (is_text ? type == SQLITE_BLOB : !number) return;
  int64_t const integer = is_text ? 0 : *number;

  if (column.of != ColumnOf::kEvent) {
    filter.equal.push_back({&column, is_text, integer, is_text ? text_of(value) : std::string()});
    return;
  }

  // The same column twice, with different values: nothing.
  auto const set = [&](auto& condition, auto wanted) {
    filter.nothing = filter.nothing || (condition && *condition != wanted);
    condition = wanted;
  };

  if (column.name == "id") set(filter.id, integer);
  if (column.name == "correlation") set(filter.correlation, integer);
  if (column.name == "correlation" && integer <= 0) filter.nothing = true;
  if (column.name == "kind") set(filter.kind, text_of(value));
  if (column.name == "name") set(filter.name, text_of(value));
}

class EventCursor final : public Cursor {
 public:
  EventCursor(Processes const& processes, model::TraceTable const& table)
      : processes_(processes), table_(table), scan_(processes, table) {}

  void start(char const* plan, std::span<sqlite3_value*> values) override {
    EventFilter filter;
    char const* const end = plan + std::strlen(plan);

    for (sqlite3_value* const value : values) {
      size_t column = 0;
      auto const [after, error] = std::from_chars(plan, end, column);
      if (error != std::errc() || after == end || column >= table_.columns.size()) break;
      add_condition(filter, table_.columns[column], use_of(table_, table_.columns[column]), *after,
                    value);
      plan = after + 1;
    }

    scan_.start(std::move(filter));
  }
  void next() override { scan_.next(); }
  [[nodiscard]] bool at_end() const override { return scan_.at_end(); }
  [[nodiscard]] Cell column(size_t index) const override {
    return table_.columns[index].read(processes_[scan_.process()]->cells(), scan_.row());
  }
  [[nodiscard]] int64_t row_id() const override {
    return static_cast<int64_t>((static_cast<uint64_t>(scan_.process()) << 32U) | scan_.row());
  }

 private:
  Processes const& processes_;
  model::TraceTable const& table_;
  EventScan scan_;
};

/// All rows of processes, devices and tracks, which are few.
class PlainCursor final : public Cursor {
 public:
  PlainCursor(Processes const& processes, model::TraceTable const& table)
      : processes_(processes), table_(table) {}
  void start(char const*, std::span<sqlite3_value*>) override {
    process_ = 0;
    row_ = 0;
    skip_empty();
  }
  void next() override {
    ++row_;
    skip_empty();
  }
  [[nodiscard]] bool at_end() const override { return process_ == processes_.size(); }
  [[nodiscard]] Cell column(size_t index) const override {
    return table_.columns[index].read(processes_[process_]->cells(), row_);
  }
  [[nodiscard]] int64_t row_id() const override {
    return static_cast<int64_t>((static_cast<uint64_t>(process_) << 32U) | row_);
  }

 private:
  void skip_empty() {
    for (; !at_end() && row_ >= table_.row_count(processes_[process_]->trace()); ++process_)
      row_ = 0;
  }

  Processes const& processes_;
  model::TraceTable const& table_;
  size_t process_ = 0;
  uint32_t row_ = 0;
};

/// How many rows a condition leaves, of what there is: guesses, good enough to choose which table
/// is walked first.
double share_of(TableColumn const& column, Use use, char op, double rows) {
  if (use == Use::kRange) return op == '=' ? 1 / std::max(rows, 1.0) : 0.25;
  if (column.name == "id") return 1 / std::max(rows, 1.0);
  if (column.name == "correlation") return 2 / std::max(rows, 2.0);
  return column.name == "name" ? 0.02 : 0.25;
}

}  // namespace

EventTable::EventTable(Processes const& processes, model::TraceTable const& table)
    : processes_(processes), table_(table) {
  std::pair<int64_t, int64_t> before{INT64_MIN, 0};

  for (auto const& process : processes) {
    model::TraceInfo const& info = process->trace().info();
    std::pair<int64_t, int64_t> const at{info.rank, info.process_id};
    by_process_ = by_process_ && before < at && info.process_id >= 0;
    ranks_differ_ = ranks_differ_ && (&process == &processes.front() || before.first < at.first);

    before = at;
    rows_ += table.row_count(process->trace());
  }
}

std::vector<VirtualColumn> EventTable::columns() const {
  std::vector<VirtualColumn> columns;
  for (TableColumn const& column : table_.columns)
    columns.push_back({std::string(column.name), column.type});
  return columns;
}

bool EventTable::gives_order(sqlite3_index_info const& info, std::vector<bool> const& fixed) const {
  constexpr std::array<std::string_view, 4> kOrder = {"rank", "process", "track", "start_ns"};
  auto const has_value = [&](std::string_view name) {
    for (size_t i = 0; i < table_.columns.size(); ++i)
      if (table_.columns[i].name == name && fixed[i]) return true;
    return processes_.size() < 2 && (name == "rank" || name == "process");
  };
  auto const is_fixed = [&](std::string_view name) {
    return has_value(name) || (name == "process" && ranks_differ_ && has_value("rank"));
  };

  // If several processes have one rank, they keep their order within it.
  auto const may_skip = [&](std::string_view name) {
    return is_fixed(name) || (name == "process" && ranks_differ_);
  };

  if (table_.rows != TableRows::kEvents || (processes_.size() > 1 && !by_process_)) return false;
  size_t next = 0;
  for (int i = 0; i < info.nOrderBy; ++i) {
    auto const& term = info.aOrderBy[i];
    if (term.iColumn < 0) return false;
    std::string_view const name = table_.columns[static_cast<size_t>(term.iColumn)].name;
    if (is_fixed(name)) continue;
    while (next < kOrder.size() && kOrder[next] != name && may_skip(kOrder[next])) ++next;
    if (next == kOrder.size() || kOrder[next] != name || term.desc != 0) return false;
    ++next;
  }

  return true;
}

void EventTable::best_index(sqlite3_index_info& info) {
  std::string plan;
  double rows = std::max(rows_, 1.0), looked_at = rows;
  int taken = 0;
  std::vector<bool> fixed(table_.columns.size());

  for (int i = 0; i < info.nConstraint; ++i) {
    auto const& constraint = info.aConstraint[i];
    if (constraint.usable == 0 || constraint.iColumn < 0) continue;
    auto const index = static_cast<size_t>(constraint.iColumn);
    TableColumn const& column = table_.columns[index];
    Use const use = use_of(table_, column);
    char const op = operator_of(constraint.op);
    if (use == Use::kNone || op == '\0' || (use == Use::kEqual && op != '=')) continue;

    bool const is_text = column.type == ColumnType::kText;
    if (is_text && sqlite3_stricmp(sqlite3_vtab_collation(&info, i), "BINARY") != 0) continue;

    plan += std::to_string(index) + op;
    info.aConstraintUsage[i].argvIndex = ++taken;
    int const wanted_type = is_text ? SQLITE_TEXT : SQLITE_INTEGER;
    // Where the value is known and of the column's type the scan is exact: SQLite need not look at
    // every row again.
    sqlite3_value* value = nullptr;
    if (sqlite3_vtab_rhs_value(&info, i, &value) == SQLITE_OK && value != nullptr)
      info.aConstraintUsage[i].omit =
          static_cast<unsigned char>(sqlite3_value_type(value) == wanted_type);
    fixed[index] = fixed[index] || op == '=';

    double const share = share_of(column, use, op, rows_);
    rows *= share;
    if (column.name != "name" && column.name != "kind" && column.name != "dur_ns")
      looked_at *= share;
  }

  give_plan(info, plan);
  info.estimatedRows = static_cast<sqlite3_int64>(std::max(rows, 1.0));
  info.estimatedCost = 10 + rows + looked_at * 0.05;
  info.orderByConsumed = info.nOrderBy > 0 && gives_order(info, fixed) ? 1 : 0;
}

std::unique_ptr<Cursor> EventTable::open() {
  if (table_.rows == TableRows::kEvents) return std::make_unique<EventCursor>(processes_, table_);
  return std::make_unique<PlainCursor>(processes_, table_);
}

}  // namespace stepscope::query
