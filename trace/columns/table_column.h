// Reads a column of a trace's tables (trace/model/tables.h) into memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "trace/columns/column.h"

namespace stepscope::columns {

/// The codes of the texts of a column. Texts of a trace stay where they are, so most are known by
/// their place.
class TextCodes {
 public:
  /// −1 for NULL. A new text goes into the column.
  int32_t of(model::Cell const& cell, Column& column);
  /// Before another TableSource, whose texts may lie where those of the last one did.
  void forget_places();
  void clear();

 private:
  int32_t by_content(std::string&& text, Column& column);
  [[nodiscard]] int32_t by_place(std::string_view text) const;

  std::unordered_map<std::string, int32_t> codes_;
  std::unordered_map<char const*, std::pair<size_t, int32_t>> places_;
  std::string_view latest_;
  int32_t latest_code_ = -1;
};

/// Rows of one column, from one process after the other.
class TableColumnReader {
 public:
  /// `rows`: memory is reserved for so many.
  explicit TableColumnReader(model::TableColumn const& column, size_t rows = 0);

  /// `rows`: of the table's sort (model::TableRows). `is_constant`: all of them have the value of
  /// the first.
  void read(model::TableSource const& source, std::span<uint32_t const> rows, bool is_constant);
  /// Before rows of another source.
  void begin_source() { codes_.forget_places(); }
  /// All rows since the last one was taken.
  Column take();

 private:
  void read_texts(model::TableSource const& source, std::span<uint32_t const> rows,
                  bool is_constant);
  void begin_column();

  model::TableColumn const* column_;
  size_t expected_rows_;
  bool has_begun_ = false;  ///< a column that was not taken yet
  ColumnBuilder numbers_;
  Column texts_;
  TextCodes codes_;
};

}  // namespace stepscope::columns
