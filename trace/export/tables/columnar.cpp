#include "trace/export/tables/columnar.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "trace/base/format.h"
#include "trace/columns/files/table_file.h"
#include "trace/columns/table_column.h"
#include "trace/export/tables/table_files.h"

namespace stepscope::exporting {
namespace {

using base::Expected;
using columns::Column;
using columns::ValueType;
using OpenFile = std::unique_ptr<columns::TableFile> (*)(columns::FileSchema, columns::WriteBytes);

ValueType type_of(model::ColumnType type) {
  switch (type) {
    case model::ColumnType::kInteger:
      return ValueType::kInteger;
    case model::ColumnType::kReal:
    case model::ColumnType::kNumber:
      return ValueType::kReal;
    case model::ColumnType::kText:
      break;
  }
  return ValueType::kText;
}

columns::FileSchema schema_of(model::TraceTable const& table) {
  columns::FileSchema schema;
  schema.notes = {{"table", std::string(table.name)}, {"meaning", std::string(table.meaning)}};
  for (model::TableColumn const& column : table.columns)
    schema.columns.push_back(
        {std::string(column.name), type_of(column.type), std::string(column.meaning)});
  return schema;
}

/// A file's columns have one type from the first row to the last. What a column of integers became
/// for a number above 2^63 − 1 is integers again, and such a number NULL. Returns how many those
/// are.
size_t fit(Column& column, ValueType type) {
  if (column.type == type) return 0;
  if (type == ValueType::kReal) {
    column.reals.assign(column.integers.begin(), column.integers.end());
    for (size_t row = 0; row < column.is_null.size(); ++row)
      if (column.is_null[row] != 0) column.reals[row] = std::numeric_limits<double>::quiet_NaN();
    column.integers.clear();
    column.type = type;
    return 0;
  }

  size_t too_large = 0;
  std::vector<double> const reals = std::exchange(column.reals, {});
  column.type = type;
  column.integers.resize(reals.size());
  column.is_null.resize(reals.size());

  for (size_t row = 0; row < reals.size(); ++row) {
    if (column.is_null[row] != 0) continue;
    auto const exact = column.exact.find(row);
    bool const fits =
        exact == column.exact.end() || exact->second.type == model::Cell::Type::kInteger;
    if (fits)
      column.integers[row] =
          exact == column.exact.end() ? static_cast<int64_t>(reals[row]) : exact->second.integer();
    column.is_null[row] = static_cast<uint8_t>(!fits);
    too_large += fits ? 0 : 1;
  }

  column.nulls += too_large;
  column.exact.clear();
  return too_large;
}

class ColumnarFile final : public TableFileWriter {
 public:
  ColumnarFile(base::PartialFile file, model::TraceTable const& table, OpenFile open)
      : file_(std::move(file)), table_(&table) {
    for (model::TableColumn const& column : table.columns)
      readers_.emplace_back(column, columns::kRowsOfGroup);
    writer_ = open(schema_of(table), [this](std::string_view bytes) { return file_.write(bytes); });
  }

  Expected<void> add(model::TableSource const& source) override {
    for (columns::TableColumnReader& reader : readers_) reader.begin_source();
    model::Trace const& trace = source.trace();
    if (table_->rows != model::TableRows::kEvents) {
      std::vector<uint32_t> rows(table_->row_count(trace));
      std::iota(rows.begin(), rows.end(), 0U);
      return add_rows(source, rows);
    }

    std::vector<uint32_t> rows;
    for (uint32_t track = 0; track < trace.tracks().size(); ++track) {
      auto const [first, last] = trace.rows_of(model::TrackId{track});
      rows.clear();
      for (uint32_t row = first; row < last; ++row)
        if (table_->has(trace, row)) rows.push_back(row);
      if (auto const added = add_rows(source, rows); !added) return added;
    }
    return {};
  }
  Expected<void> finish() override {
    if (auto const written = write_group(); !written) return written;
    if (auto const finished = writer_->finish(); !finished) return finished;
    return file_.finish();
  }
  [[nodiscard]] std::string note() const override {
    std::string text;
    if (too_large_ > 0)
      text = fmt::format("{}: {} above 2^63 - 1 became NULL", table_->name,
                         base::format_count(too_large_, "number"));
    if (rounded_ > 0)
      text += fmt::format("{}{}: {} in a column of reals lost the digits behind the 16th",
                          text.empty() ? "" : "; ", table_->name,
                          base::format_count(rounded_, "integer"));
    return text;
  }

 private:
  /// All of one track, where the table is of events.
  Expected<void> add_rows(model::TableSource const& source, std::span<uint32_t const> rows) {
    while (!rows.empty()) {
      size_t const count = std::min(rows.size(), columns::kRowsOfGroup - rows_);
      read(source, rows.first(count));
      rows = rows.subspan(count);
      if (rows_ < columns::kRowsOfGroup) continue;
      if (auto const written = write_group(); !written) return written;
    }
    return {};
  }

  void read(model::TableSource const& source, std::span<uint32_t const> rows) {
    auto const read_column = [&](size_t i) {
      model::ColumnOf const of = table_->columns[i].of;
      bool const is_constant = table_->rows == model::TableRows::kEvents &&
                               (of == model::ColumnOf::kProcess || of == model::ColumnOf::kTrack);
      readers_[i].read(source, rows, is_constant);
    };

    rows_ += rows.size();
    constexpr size_t kWorthThreads = 4096;
    if (rows.size() >= kWorthThreads)
      return tbb::parallel_for(size_t{0}, readers_.size(), read_column);
    for (size_t i = 0; i < readers_.size(); ++i) read_column(i);
  }

  Expected<void> write_group() {
    std::vector<Column> group;
    for (size_t i = 0; i < readers_.size(); ++i) {
      group.push_back(readers_[i].take());
      too_large_ += fit(group.back(), type_of(table_->columns[i].type));
      rounded_ += group.back().exact.size();
    }
    rows_ = 0;
    return writer_->add(group);
  }

  base::PartialFile file_;
  model::TraceTable const* table_;
  std::vector<columns::TableColumnReader> readers_;
  std::unique_ptr<columns::TableFile> writer_;
  size_t rows_ = 0;  ///< in `readers_`
  size_t too_large_ = 0, rounded_ = 0;
};

template <OpenFile open>
std::unique_ptr<TableFileWriter> open_columnar(base::PartialFile file,
                                               model::TraceTable const& table) {
  return std::make_unique<ColumnarFile>(std::move(file), table, open);
}

}  // namespace

Expected<std::unique_ptr<Exporter>> open_parquet(std::string const& path) {
  return open_table_files(path, ".parquet", open_columnar<columns::parquet_file>);
}

Expected<std::unique_ptr<Exporter>> open_arrow(std::string const& path) {
  return open_table_files(path, ".arrow", open_columnar<columns::arrow_file>);
}

}  // namespace stepscope::exporting
