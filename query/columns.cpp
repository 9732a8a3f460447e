#include "query/columns.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "query/schema.h"
#include "trace/base/format.h"
#include "trace/base/huge_pages.h"

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

/// Texts of a trace stay where they are: most are known by their place.
class TextsByPlace {
 public:
  [[nodiscard]] int32_t find(std::string_view text) const {
    if (text.data() == latest_.data() && text.size() == latest_.size()) return latest_code_;
    auto const found = codes_.find(text.data());
    return found != codes_.end() && found->second.first == text.size() ? found->second.second : -1;
  }
  void remember(std::string_view text, int32_t code) {
    codes_[text.data()] = {text.size(), code};
    latest_ = text;
    latest_code_ = code;
  }

 private:
  std::unordered_map<char const*, std::pair<size_t, int32_t>> codes_;
  std::string_view latest_;
  int32_t latest_code_ = -1;
};

/// The codes of the texts of a table.
class TextCodes {
 public:
  explicit TextCodes(Column& column) : column_(column) {}

  int32_t of(Cell const& cell) {
    if (cell.is_null()) return -1;
    if (cell.type != Cell::Type::kText) return by_content(model::to_text(cell));
    int32_t code = places_.find(cell.text);
    if (code >= 0) return code;
    code = by_content(std::string(cell.text));
    places_.remember(cell.text, code);
    return code;
  }

 private:
  int32_t by_content(std::string&& text) {
    auto const [known, is_new] =
        codes_.try_emplace(std::move(text), static_cast<int32_t>(column_.texts.size()));
    if (is_new) column_.texts.push_back(known->first);
    return known->second;
  }

  Column& column_;
  std::unordered_map<std::string, int32_t> codes_;
  TextsByPlace places_;
};

void add_nulls_of_codes(Column& column) {
  column.nulls = static_cast<uint64_t>(std::count(column.codes.begin(), column.codes.end(), -1));
  if (column.nulls == 0) return;
  column.is_null.resize(column.codes.size());
  std::transform(column.codes.begin(), column.codes.end(), column.is_null.begin(),
                 [](int32_t code) { return static_cast<uint8_t>(code < 0); });
}

Column read_texts(TableColumn const& column, bool is_constant, TableReading const& reading,
                  Patience& patience) {
  Column texts{.name = std::string(column.name), .type = ValueType::kText};
  base::reserve_long(texts.codes, reading.rows);
  TextCodes codes(texts);

  reading.for_each_part(column.of, [&](auto const& source, std::span<uint32_t const> rows) {
    if (patience.is_over()) return;
    if (is_constant) {
      base::append_copies(texts.codes, rows.size(), codes.of(column.read(source, rows[0])));
      return;
    }
    for (uint32_t const row : rows) texts.codes.push_back(codes.of(column.read(source, row)));
  });

  add_nulls_of_codes(texts);
  return texts;
}

Column read_numbers(TableColumn const& column, bool is_constant, TableReading const& reading,
                    Patience& patience) {
  bool const is_real = column.type == model::ColumnType::kReal;
  ColumnBuilder builder(std::string(column.name), is_real ? ValueType::kReal : ValueType::kInteger);
  builder.reserve(reading.rows);

  reading.for_each_part(column.of, [&](auto const& source, std::span<uint32_t const> rows) {
    if (patience.is_over()) return;
    if (is_constant) return builder.add(column.read(source, rows[0]), rows.size());
    for (uint32_t const row : rows) builder.add(column.read(source, row));
  });
  return builder.take();
}

}  // namespace

void ColumnBuilder::add_nulls(size_t count) {
  if (column_.is_null.empty()) {
    base::reserve_long(column_.is_null, expected_rows_);
    column_.is_null.resize(column_.rows());
  }
  base::append_copies(column_.is_null, count, uint8_t{1});
  column_.nulls += count;

  switch (column_.type) {
    case ValueType::kInteger:
      base::append_copies(column_.integers, count, int64_t{0});
      return;
    case ValueType::kReal:
      base::append_copies(column_.reals, count, std::numeric_limits<double>::quiet_NaN());
      return;
    case ValueType::kText:
      base::append_copies(column_.codes, count, int32_t{-1});
      return;
  }
}

void ColumnBuilder::reserve(size_t rows) {
  expected_rows_ = rows;
  if (column_.type == ValueType::kReal)
    base::reserve_long(column_.reals, rows);
  else
    base::reserve_long(column_.integers, rows);
}

int32_t ColumnBuilder::code_of(std::string_view text) {
  bool const is_latest =
      latest_code_ >= 0 && column_.texts[static_cast<size_t>(latest_code_)] == text;
  if (is_latest) return latest_code_;
  auto const [known, is_new] =
      codes_.try_emplace(std::string(text), static_cast<int32_t>(column_.texts.size()));
  if (is_new) column_.texts.emplace_back(text);
  return latest_code_ = known->second;
}

/// A real, or an integer that becomes one.
void ColumnBuilder::add_real(Cell const& cell) {
  if (cell.type == Cell::Type::kReal) return column_.reals.push_back(cell.real());
  constexpr int64_t kExact = int64_t{1} << 53;
  bool const has_sign = cell.type == Cell::Type::kInteger;
  bool const is_exact = has_sign && cell.integer() >= -kExact && cell.integer() <= kExact;
  if (!is_exact) column_.exact.emplace(column_.reals.size(), cell);
  column_.reals.push_back(has_sign ? static_cast<double>(cell.integer())
                                   : static_cast<double>(cell.bits));
}

/// What is there already becomes values of the type.
void ColumnBuilder::widen(ValueType type) {
  std::vector<int64_t> const integers = std::exchange(column_.integers, {});
  std::vector<double> const reals = std::exchange(column_.reals, {});
  std::map<size_t, Cell> const exact = std::exchange(column_.exact, {});
  bool const is_real = std::exchange(column_.type, type) == ValueType::kReal;
  size_t const rows = is_real ? reals.size() : integers.size();

  auto const cell_at = [&](size_t row) {
    if (!column_.is_null.empty() && column_.is_null[row] != 0) return Cell{};
    if (!is_real) return Cell::of(integers[row]);
    auto const kept = exact.find(row);
    return kept != exact.end() ? kept->second : Cell::of(reals[row]);
  };
  for (size_t row = 0; row < rows; ++row) {
    Cell const cell = cell_at(row);
    if (type == ValueType::kText)
      column_.codes.push_back(cell.is_null() ? -1 : code_of(model::to_text(cell)));
    else if (cell.is_null())
      column_.reals.push_back(std::numeric_limits<double>::quiet_NaN());
    else
      add_real(cell);
  }
}

void ColumnBuilder::add_other(Cell const& cell, size_t count) {
  if (cell.is_null()) return add_nulls(count);
  bool const is_integer = cell.type == Cell::Type::kInteger;
  bool const is_number =
      is_integer || cell.type == Cell::Type::kReal || cell.type == Cell::Type::kUnsigned;
  ValueType const number = is_integer ? ValueType::kInteger : ValueType::kReal;
  ValueType const wanted = is_number ? number : ValueType::kText;
  if (wanted > column_.type) widen(wanted);
  if (!column_.is_null.empty()) base::append_copies(column_.is_null, count, uint8_t{0});

  if (column_.type == ValueType::kText) {
    bool const is_text = cell.type == Cell::Type::kText;
    int32_t const code = is_text ? code_of(cell.text) : code_of(model::to_text(cell));
    base::append_copies(column_.codes, count, code);
  } else if (column_.type == ValueType::kInteger) {
    base::append_copies(column_.integers, count, cell.integer());
  } else {
    for (size_t i = 0; i < count; ++i) add_real(cell);
  }
}

Column ColumnBuilder::take() {
  codes_.clear();
  latest_code_ = -1;
  return std::exchange(column_, {});
}

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
          auto const read = column.type == model::ColumnType::kText ? read_texts : read_numbers;
          columns[i] = read(column, is_constant_in_part(column, *table), reading, patience);
        }
      },
      tbb::simple_partitioner());
  if (patience.is_over()) return base::fail("it was stopped before its end");
  return columns;
}

}  // namespace stepscope::query
