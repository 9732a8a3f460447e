#include "query/columns.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "query/schema.h"
#include "trace/base/format.h"
#include "trace/columns/table_column.h"

namespace stepscope::query {
namespace {

using base::Expected;
using model::Cell;
using model::TableColumn;
using model::TableRows;
using model::TraceTable;

/// Rows of one process, by track.
struct TableRun {
  size_t process = 0;
  std::vector<uint32_t> rows;
  std::vector<size_t>
      track_ends;  ///< places in `rows` where another track begins, and the last one
};

/// What the tasks of a table read.
struct TableReading {
  std::vector<TableRun> runs;
  std::vector<std::unique_ptr<model::TableSource>> sources;  ///< of each process
  size_t rows = 0;

  /// The rows for which a column has one value, and where they are.
  template <class Take>
  void for_each_part(model::ColumnOf of, Take const& take) const {
    for (TableRun const& run : runs) {
      std::span<uint32_t const> const all = run.rows;
      if (all.empty()) continue;
      if (of == model::ColumnOf::kProcess || run.track_ends.empty()) {
        take(*sources[run.process], all);
        continue;
      }

      size_t begin = 0;
      for (size_t const end : run.track_ends) {
        take(*sources[run.process], all.subspan(begin, end - begin));
        begin = end;
      }
    }
  }
};

TraceTable const* find_table(std::string_view name) {
  for (TraceTable const& table : model::trace_tables())
    if (table.name == name) return &table;
  return nullptr;
}

Expected<std::vector<TableColumn const*>> find_columns(TraceTable const& table,
                                                       std::vector<std::string> const& names) {
  std::vector<TableColumn const*> found;
  std::vector<std::string_view> known;
  for (TableColumn const& column : table.columns) {
    known.push_back(column.name);
    if (names.empty()) found.push_back(&column);
  }

  for (std::string const& name : names) {
    auto const it = std::find(known.begin(), known.end(), name);
    if (it == known.end())
      return base::fail("{} has no column {}, it has {}", table.name, name, fmt::join(known, ", "));
    found.push_back(&table.columns[static_cast<size_t>(it - known.begin())]);
  }
  return found;
}

TableReading begin_reading(TraceTable const& table, model::Run const& run) {
  TableReading reading;
  reading.runs.resize(run.ranks.size());
  reading.sources.resize(run.ranks.size());

  tbb::parallel_for(size_t{0}, run.ranks.size(), [&](size_t process) {
    model::RankTrace const& rank = run.ranks[process];
    reading.sources[process] = std::make_unique<model::TableSource>(rank.trace, rank.offset_ns);
    TableRun& its = reading.runs[process];
    its.process = process;

    if (table.rows != TableRows::kEvents) {
      its.rows.resize(table.row_count(rank.trace));
      std::iota(its.rows.begin(), its.rows.end(), 0U);
      return;
    }
    for (uint32_t track = 0; track < rank.trace.tracks().size(); ++track) {
      auto const [first, last] = rank.trace.rows_of(model::TrackId{track});
      for (uint32_t row = first; row < last; ++row)
        if (table.has(rank.trace, row)) its.rows.push_back(row);
      bool const is_new =
          its.track_ends.empty() ? !its.rows.empty() : its.track_ends.back() != its.rows.size();
      if (is_new) its.track_ends.push_back(its.rows.size());
    }
  });

  for (TableRun const& each : reading.runs) reading.rows += each.rows.size();
  return reading;
}

/// All of these rows have one value of the column.
bool is_constant_in_part(TableColumn const& column, TraceTable const& table) {
  return table.rows == TableRows::kEvents &&
         (column.of == model::ColumnOf::kProcess || column.of == model::ColumnOf::kTrack);
}

/// Who computes looks now and then whether somebody still waits for it.
class Patience {
 public:
  explicit Patience(std::function<bool()> const& is_given_up) : is_given_up_(is_given_up) {}
  /// Any thread.
  bool is_over() {
    if (is_given_up_ && !is_over_.load(std::memory_order_relaxed) && is_given_up_())
      is_over_.store(true, std::memory_order_relaxed);
    return is_over_.load(std::memory_order_relaxed);
  }

 private:
  std::function<bool()> const& is_given_up_;
  std::atomic<bool> is_over_{false};
};

Column read_column(TableColumn const& column, bool is_constant, TableReading const& reading,
                   Patience& patience) {
  columns::TableColumnReader reader(column, reading.rows);
  reading.for_each_part(column.of, [&](auto const& source, std::span<uint32_t const> rows) {
    if (!patience.is_over()) reader.read(source, rows, is_constant);
  });
  return reader.take();
}

}  // namespace

void ColumnSink::begin(std::span<std::string const> columns) {
  for (std::string const& name : columns) builders_.emplace_back(name);
}

bool ColumnSink::row(std::span<Cell const> cells) {
  for (size_t i = 0; i < cells.size(); ++i) {
    bool const is_text = cells[i].type == Cell::Type::kText;
    // A statement can make any bytes: cast(x'ff' as text).
    std::string const valid = is_text ? base::valid_utf8(cells[i].text, SIZE_MAX) : std::string();
    builders_[i].add(is_text ? Cell::of(std::string_view(valid)) : cells[i]);
  }
  return true;
}

std::vector<Column> ColumnSink::take() {
  std::vector<Column> columns;
  for (ColumnBuilder& builder : builders_) columns.push_back(builder.take());
  return columns;
}

bool is_trace_table(std::string_view name) { return find_table(name) != nullptr; }

Expected<std::vector<Column>> read_table(model::Run const& run, std::string_view name,
                                         std::vector<std::string> const& names,
                                         std::function<bool()> const& is_given_up) {
  TraceTable const* const table = find_table(name);
  if (table == nullptr) return base::fail("{}: is no table of the trace", name);
  auto const wanted = find_columns(*table, names);
  if (!wanted) return base::fail_with(wanted);

  TableReading const reading = begin_reading(*table, run);
  Patience patience(is_given_up);
  std::vector<Column> columns(wanted->size());
  tbb::parallel_for(
      tbb::blocked_range<size_t>(0, columns.size(), 1),
      [&](tbb::blocked_range<size_t> const& range) {
        for (size_t i = range.begin(); i != range.end(); ++i) {
          TableColumn const& column = *(*wanted)[i];
          columns[i] = read_column(column, is_constant_in_part(column, *table), reading, patience);
        }
      },
      tbb::simple_partitioner());
  if (patience.is_over()) return base::fail("it was stopped before its end");
  return columns;
}

}  // namespace stepscope::query
