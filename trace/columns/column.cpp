#include "trace/columns/column.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "trace/base/huge_pages.h"

namespace stepscope::columns {

using model::Cell;

void ColumnBuilder::begin_nulls() {
  base::reserve_long(column_.is_null, expected_rows_);
  column_.is_null.resize(column_.rows());
}

void ColumnBuilder::add_nulls(size_t count) {
  if (column_.is_null.empty()) begin_nulls();
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

void ColumnBuilder::add(std::span<uint64_t const> bits, std::span<Cell::Type const> types) {
  size_t const nulls =
      static_cast<size_t>(std::count(types.begin(), types.end(), Cell::Type::kNull));
  size_t const integers =
      static_cast<size_t>(std::count(types.begin(), types.end(), Cell::Type::kInteger));
  bool const is_simple = column_.type == ValueType::kInteger && integers + nulls == types.size();
  if (!is_simple) {
    for (size_t i = 0; i < bits.size(); ++i) add(Cell{types[i], bits[i], {}});
    return;
  }

  bool const had_nulls = !column_.is_null.empty();
  if (nulls > 0 && !had_nulls) begin_nulls();
  if (nulls > 0 || had_nulls)
    for (Cell::Type const type : types)
      column_.is_null.push_back(static_cast<uint8_t>(type == Cell::Type::kNull));
  column_.nulls += nulls;
  // A cell without a value has the bits 0.
  column_.integers.insert(column_.integers.end(), bits.begin(), bits.end());
}

namespace {

/// Gives a part the texts that its rows have, under codes of its own.
void keep_used_texts(std::vector<std::string> const& texts, Column& part) {
  std::unordered_map<int32_t, int32_t> codes;
  for (int32_t& code : part.codes) {
    if (code < 0) continue;
    auto const [known, is_new] = codes.try_emplace(code, static_cast<int32_t>(part.texts.size()));
    if (is_new) part.texts.push_back(texts[static_cast<size_t>(code)]);
    code = known->second;
  }
}

}  // namespace

Column slice(Column const& column, size_t first, size_t count) {
  size_t const end = std::min(column.rows(), first + count);
  auto const part_of = [&](auto const& values) {
    auto const begin = values.begin();
    return values.empty()
               ? std::remove_cvref_t<decltype(values)>()
               : std::remove_cvref_t<decltype(values)>(begin + static_cast<ptrdiff_t>(first),
                                                       begin + static_cast<ptrdiff_t>(end));
  };

  Column part{.name = column.name,
              .type = column.type,
              .integers = part_of(column.integers),
              .reals = part_of(column.reals),
              .codes = part_of(column.codes),
              .is_null = part_of(column.is_null)};
  part.nulls = static_cast<uint64_t>(std::count(part.is_null.begin(), part.is_null.end(), 1));
  keep_used_texts(column.texts, part);
  auto const last = column.exact.lower_bound(end);
  for (auto exact = column.exact.lower_bound(first); exact != last; ++exact)
    part.exact.emplace(exact->first - first, exact->second);
  return part;
}

Column ColumnBuilder::take() {
  codes_.clear();
  latest_code_ = -1;
  return std::exchange(column_, {});
}

}  // namespace stepscope::columns
