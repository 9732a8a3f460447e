#include "query/output.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "query/columns.h"
#include "trace/base/csv.h"
#include "trace/base/format.h"
#include "trace/base/terminal/text_width.h"

namespace stepscope::query {
namespace {

using model::Cell;

/// Text that is collected and written in large pieces.
class Lines {
 public:
  explicit Lines(WriteBytes write) : write_(std::move(write)) {}
  std::string& text() { return text_; }
  /// False: the file takes no more (the disk is full, the reader is gone).
  bool write_if_large() {
    constexpr size_t kLarge = 1U << 16U;
    return text_.size() < kLarge || write();
  }
  bool write() {
    if (written_) written_ = write_(text_);
    text_.clear();
    return written_.has_value();
  }
  base::Expected<void> finish() {
    write();
    return written_;
  }

 private:
  WriteBytes write_;
  std::string text_;
  base::Expected<void> written_;  ///< the first error
};

/// "_2", "_3" behind the later ones of the same name.
std::vector<std::string> unique_names(std::span<std::string const> columns) {
  std::set<std::string> used;
  std::vector<std::string> names;
  for (std::string const& column : columns) {
    std::string name = column;
    for (int copy = 2; !used.insert(name).second; ++copy) name = fmt::format("{}_{}", column, copy);
    names.push_back(std::move(name));
  }
  return names;
}

// CSV.

class CsvWriter final : public ResultWriter {
 public:
  explicit CsvWriter(WriteBytes write) : lines_(std::move(write)) {}
  void begin(std::span<std::string const> columns) override {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) lines_.text() += ',';
      base::append_csv_text(lines_.text(), columns[i]);
    }
    lines_.text() += '\n';
  }
  bool row(std::span<Cell const> cells) override {
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) lines_.text() += ',';
      if (cells[i].type == Cell::Type::kText)
        base::append_csv_text(lines_.text(), cells[i].text);
      else
        model::append_text(lines_.text(), cells[i]);
    }
    lines_.text() += '\n';
    return lines_.write_if_large();
  }
  base::Expected<void> finish() override { return lines_.finish(); }

 private:
  Lines lines_;
};

// JSON.

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class JsonWriter final : public ResultWriter {
 public:
  explicit JsonWriter(WriteBytes write) : lines_(std::move(write)) {}
  void begin(std::span<std::string const> columns) override {
    for (std::string const& name : unique_names(columns)) keys_.push_back(json_text(name) + ":");
    lines_.text() += '[';
  }
  bool row(std::span<Cell const> cells) override {
    lines_.text() += first_ ? "\n{" : ",\n{";
    first_ = false;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) lines_.text() += ',';
      lines_.text() += keys_[i];
      append(cells[i]);
    }
    lines_.text() += '}';
    return lines_.write_if_large();
  }
  base::Expected<void> finish() override {
    lines_.text() += first_ ? "]\n" : "\n]\n";
    return lines_.finish();
  }

 private:
  void append(Cell const& cell) {
    if (cell.type == Cell::Type::kText || cell.type == Cell::Type::kAddress) {
      lines_.text() +=
          json_text(cell.type == Cell::Type::kText ? std::string(cell.text) : model::to_text(cell));
    } else if (cell.is_null() || (cell.type == Cell::Type::kReal && !std::isfinite(cell.real()))) {
      lines_.text() += "null";  // JSON has no infinity
    } else {
      model::append_text(lines_.text(), cell);
    }
  }
  Lines lines_;
  std::vector<std::string> keys_;
  bool first_ = true;
};

// Parquet and Arrow.

/// The types of the columns are known after the last row: all of them stay in memory until then.
class ColumnarWriter final : public ResultWriter {
 public:
  ColumnarWriter(WriteBytes write, OpenColumnar open) : write_(std::move(write)), open_(open) {}
  void begin(std::span<std::string const> columns) override { sink_.begin(unique_names(columns)); }
  bool row(std::span<Cell const> cells) override { return sink_.row(cells); }

  base::Expected<void> finish() override {
    std::vector<Column> const all = sink_.take();
    columns::FileSchema schema;
    for (Column const& column : all) schema.columns.push_back({column.name, column.type, {}});
    auto const file = open_(std::move(schema), write_);

    size_t const rows = all.empty() ? 0 : all[0].rows();
    for (size_t first = 0; first < rows; first += columns::kRowsOfGroup) {
      std::vector<Column> group;
      for (Column const& column : all)
        group.push_back(columns::slice(column, first, columns::kRowsOfGroup));
      if (auto const added = file->add(group); !added) return added;
    }
    return file->finish();
  }

 private:
  WriteBytes write_;
  OpenColumnar open_;
  ColumnSink sink_;
};

// Table.

class TableWriter final : public ResultWriter {
 public:
  TableWriter(WriteBytes write, size_t width) : lines_(std::move(write)), width_(width) {}
  void begin(std::span<std::string const> columns) override {
    for (std::string const& column : columns) headings_.push_back(base::printable(column));
    is_number_.assign(headings_.size(), true);
  }
  bool row(std::span<Cell const> cells) override {
    std::vector<std::string>& shown = waiting_.emplace_back();
    for (size_t i = 0; i < cells.size(); ++i) {
      if (widths_.empty() && cells[i].type == Cell::Type::kText) is_number_[i] = false;
      shown.push_back(cells[i].is_null() ? "-" : base::printable(model::to_text(cells[i])));
    }
    ++rows_;
    return waiting_.size() < kLookedAt || write_waiting();
  }
  base::Expected<void> finish() override {
    write_waiting();
    lines_.text() += base::format_count(rows_, "row") + "\n";
    return lines_.finish();
  }

 private:
  /// Rows from which the widths are found; later ones are cut where they are wider.
  static constexpr size_t kLookedAt = 1000;
  static constexpr size_t kNarrowest = 8;  ///< a text is not cut below this

  bool write_waiting() {
    if (widths_.empty()) {
      find_widths();
      append(headings_);
      std::vector<std::string> rules;
      for (size_t const width : widths_) {
        std::string& rule = rules.emplace_back();
        for (size_t i = 0; i < width; ++i) rule += "─";
      }
      append(rules);
    }

    for (auto const& row : waiting_) append(row);
    waiting_.clear();
    return lines_.write();
  }
  void find_widths() {
    for (size_t i = 0; i < headings_.size(); ++i) {
      widths_.push_back(base::columns_of(headings_[i]));
      for (auto const& row : waiting_) widths_[i] = std::max(widths_[i], base::columns_of(row[i]));
    }
    if (width_ == 0) return;

    // The widest text gives way, again and again. Numbers stay whole, whatever the terminal.
    while (std::accumulate(widths_.begin(), widths_.end(), size_t{0}) + 2 * (widths_.size() - 1) >
           width_) {
      size_t widest = widths_.size();
      for (size_t i = 0; i < widths_.size(); ++i)
        if (!is_number_[i] && widths_[i] > kNarrowest &&
            (widest == widths_.size() || widths_[i] > widths_[widest]))
          widest = i;
      if (widest == widths_.size()) return;
      --widths_[widest];
    }
  }
  void append(std::vector<std::string> const& row) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      bool const is_whole = is_number_[i] || width_ == 0;
      std::string const text = is_whole ? row[i] : base::cut_to_columns(row[i], widths_[i]);

      std::string const pad(widths_[i] - std::min(widths_[i], base::columns_of(text)), ' ');
      if (i > 0) line += "  ";
      line += is_number_[i] ? pad + text : text + pad;
    }

    line.erase(line.find_last_not_of(' ') + 1);
    lines_.text() += line + "\n";
  }

  Lines lines_;
  size_t width_;
  std::vector<std::string> headings_;
  std::vector<bool> is_number_;  ///< right aligned: no text in what was looked at
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> waiting_;
  uint64_t rows_ = 0;
};

}  // namespace

std::string marked_place(std::string const& sql, size_t offset) {
  offset = std::min(offset, sql.size());
  size_t const before = offset == 0 ? std::string::npos : sql.rfind('\n', offset - 1);
  size_t const begin = before == std::string::npos ? 0 : before + 1;
  std::string const line = sql.substr(begin, sql.find('\n', begin) - begin);
  std::string const indent(base::columns_of(line.substr(0, offset - begin)), ' ');
  return fmt::format("  {}\n  {}^\n", base::printable(line), indent);
}

WriteBytes to_stream(std::FILE* file) {
  return [file](std::string_view bytes) -> base::Expected<void> {
    bool const is_written =
        std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() && std::fflush(file) == 0;
    if (is_written) return {};
    if (errno == EPIPE) return base::fail("the result is not complete: its reader has gone");
    return base::fail("the result cannot be written ({}), free disk space or write it elsewhere",
                      std::strerror(errno));
  };
}

std::unique_ptr<ResultWriter> table_writer(WriteBytes write, size_t width) {
  return std::make_unique<TableWriter>(std::move(write), width);
}
std::unique_ptr<ResultWriter> csv_writer(WriteBytes write) {
  return std::make_unique<CsvWriter>(std::move(write));
}
std::unique_ptr<ResultWriter> json_writer(WriteBytes write) {
  return std::make_unique<JsonWriter>(std::move(write));
}
std::unique_ptr<ResultWriter> columnar_writer(WriteBytes write, OpenColumnar open) {
  return std::make_unique<ColumnarWriter>(std::move(write), open);
}

}  // namespace stepscope::query
