#include "trace/columns/table_column.h"

#include <algorithm>
#include <array>

#include "trace/base/huge_pages.h"

namespace stepscope::columns {

using model::Cell;

int32_t TextCodes::of(Cell const& cell, Column& column) {
  if (cell.is_null()) return -1;
  if (cell.type != Cell::Type::kText) return by_content(model::to_text(cell), column);

  int32_t code = by_place(cell.text);
  if (code >= 0) return code;
  code = by_content(std::string(cell.text), column);
  places_[cell.text.data()] = {cell.text.size(), code};
  latest_ = cell.text;
  latest_code_ = code;
  return code;
}

int32_t TextCodes::by_place(std::string_view text) const {
  if (text.data() == latest_.data() && text.size() == latest_.size()) return latest_code_;
  auto const found = places_.find(text.data());
  return found != places_.end() && found->second.first == text.size() ? found->second.second : -1;
}

int32_t TextCodes::by_content(std::string&& text, Column& column) {
  auto const [known, is_new] =
      codes_.try_emplace(std::move(text), static_cast<int32_t>(column.texts.size()));
  if (is_new) column.texts.push_back(known->first);
  return known->second;
}

void TextCodes::forget_places() {
  places_.clear();
  latest_ = {};
  latest_code_ = -1;
}

void TextCodes::clear() {
  codes_.clear();
  forget_places();
}

namespace {

ValueType least_type(model::TableColumn const& column) {
  return column.type == model::ColumnType::kReal ? ValueType::kReal : ValueType::kInteger;
}

void count_nulls(Column& texts) {
  texts.nulls = static_cast<uint64_t>(std::count(texts.codes.begin(), texts.codes.end(), -1));
  if (texts.nulls == 0) return;
  texts.is_null.resize(texts.codes.size());
  std::transform(texts.codes.begin(), texts.codes.end(), texts.is_null.begin(),
                 [](int32_t code) { return static_cast<uint8_t>(code < 0); });
}

}  // namespace

TableColumnReader::TableColumnReader(model::TableColumn const& column, size_t rows)
    : column_(&column), expected_rows_(rows), numbers_({}) {}

void TableColumnReader::begin_column() {
  has_begun_ = true;
  std::string const name(column_->name);
  if (column_->type == model::ColumnType::kText) {
    texts_ = {.name = name, .type = ValueType::kText};
    base::reserve_long(texts_.codes, expected_rows_);
    return;
  }

  numbers_ = ColumnBuilder(name, least_type(*column_));
  numbers_.reserve(expected_rows_);
}

void TableColumnReader::read(model::TableSource const& source, std::span<uint32_t const> rows,
                             bool is_constant) {
  if (rows.empty()) return;
  if (!has_begun_) begin_column();
  if (column_->type == model::ColumnType::kText) return read_texts(source, rows, is_constant);

  if (is_constant) return numbers_.add(column_->read(source, rows[0]), rows.size());

  constexpr size_t kAtOnce = 1024;
  std::array<uint64_t, kAtOnce> bits;
  std::array<model::Cell::Type, kAtOnce> types;
  for (; !rows.empty(); rows = rows.subspan(std::min(kAtOnce, rows.size()))) {
    auto const part = rows.first(std::min(kAtOnce, rows.size()));
    column_->read.numbers(source, part, bits.data(), types.data());
    numbers_.add(std::span(bits).first(part.size()), std::span(types).first(part.size()));
  }
}

void TableColumnReader::read_texts(model::TableSource const& source, std::span<uint32_t const> rows,
                                   bool is_constant) {
  if (is_constant) {
    int32_t const code = codes_.of(column_->read(source, rows[0]), texts_);
    return base::append_copies(texts_.codes, rows.size(), code);
  }
  for (uint32_t const row : rows)
    texts_.codes.push_back(codes_.of(column_->read(source, row), texts_));
}

Column TableColumnReader::take() {
  if (!has_begun_) begin_column();
  has_begun_ = false;
  if (column_->type != model::ColumnType::kText) return numbers_.take();

  count_nulls(texts_);
  codes_.clear();
  return std::exchange(texts_, {});
}

}  // namespace stepscope::columns
