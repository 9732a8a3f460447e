// Rows as typed columns: for programs and files that take a column at once, such as a notebook or
// Parquet.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/model/tables.h"

namespace stepscope::columns {

enum class ValueType : uint8_t { kInteger, kReal, kText };

/// One of the three vectors has a value a row, by `type`.
struct Column {
  std::string name;
  ValueType type = ValueType::kInteger;
  std::vector<int64_t> integers;   ///< 0 where it is NULL
  std::vector<double> reals;       ///< NaN where it is NULL
  std::vector<int32_t> codes;      ///< places in `texts`; −1 where it is NULL
  std::vector<std::string> texts;  ///< each once, as they came; UTF-8
  /// Integers of a column of reals that a real does not hold exactly, by row; `reals` has them
  /// rounded.
  std::map<size_t, model::Cell> exact;
  std::vector<uint8_t> is_null;  ///< a row each; empty: none is
  uint64_t nulls = 0;

  [[nodiscard]] size_t rows() const {
    if (type == ValueType::kText) return codes.size();
    return type == ValueType::kReal ? reals.size() : integers.size();
  }
};

/// Rows from `first` on, at most `count`.
Column slice(Column const& column, size_t first, size_t count);

/// Takes cells of whatever type. Integers become reals where one of the column is; all become texts
/// where one is, as files hold them (model::append_text).
class ColumnBuilder {
 public:
  /// `least`: what it is where no cell says more.
  explicit ColumnBuilder(std::string name, ValueType least = ValueType::kInteger) {
    column_.name = std::move(name);
    column_.type = least;
  }

  void reserve(size_t rows);
  void add(model::Cell const& cell) {
    bool const is_integer = cell.type == model::Cell::Type::kInteger;
    bool const has_nulls = !column_.is_null.empty();
    if (column_.type != ValueType::kInteger || (!is_integer && !(cell.is_null() && has_nulls)))
      return add_other(cell, 1);

    column_.integers.push_back(is_integer ? cell.integer() : 0);
    if (!has_nulls) return;
    column_.is_null.push_back(static_cast<uint8_t>(!is_integer));
    column_.nulls += is_integer ? 0 : 1;
  }
  /// Numbers and NULL, a row each (model::CellReader::numbers).
  void add(std::span<uint64_t const> bits, std::span<model::Cell::Type const> types);
  /// So many times.
  void add(model::Cell const& cell, size_t count) { add_other(cell, count); }
  /// The column of all cells so far; the builder is empty then.
  Column take();

 private:
  void add_other(model::Cell const& cell, size_t count);
  void begin_nulls();
  void add_nulls(size_t count);
  int32_t code_of(std::string_view text);
  void widen(ValueType type);
  void add_real(model::Cell const& cell);

  Column column_;
  size_t expected_rows_ = 0;
  std::unordered_map<std::string, int32_t> codes_;
  int32_t latest_code_ = -1;
};

}  // namespace stepscope::columns
