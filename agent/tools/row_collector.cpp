#include "agent/tools/row_collector.h"

#include <cmath>

#include <fmt/format.h>

#include "agent/tools/code_text.h"
#include "trace/base/format.h"

namespace stepscope::agent {
namespace {

using model::Cell;

/// A number as `stepscope query --format json` writes it.
OrderedJson json_of(Cell const& cell) {
  switch (cell.type) {
    case Cell::Type::kNull:
      return nullptr;
    case Cell::Type::kInteger:
      return cell.integer();
    case Cell::Type::kUnsigned:
      return cell.bits;
    case Cell::Type::kReal:
      return std::isfinite(cell.real()) ? OrderedJson(cell.real()) : OrderedJson();
    case Cell::Type::kText:
      return base::valid_utf8(cell.text, cell.text.size());
    case Cell::Type::kAddress:
      break;
  }
  return model::to_text(cell);
}

std::string shown_value(OrderedJson const& value) {
  if (value.is_null()) return "–";
  if (value.is_string()) return in_code(value.get<std::string>(), kMostCellBytes);
  return value.dump();
}

}  // namespace

void RowCollector::begin(std::span<std::string const> columns) {
  for (std::string const& column : columns) columns_.push_back(base::printable(column));
}

bool RowCollector::row(std::span<Cell const> cells) {
  if (rows_.size() == most_rows_) {
    cut_reason_ = fmt::format("There are more rows than the limit of {}.", most_rows_);
    return false;
  }

  OrderedJson row = OrderedJson::array();
  size_t bytes = 0;
  for (Cell const& cell : cells) {
    bytes += cell.text.size() + 16;
    if (bytes_ + bytes <= kMostRowBytes) row.push_back(json_of(cell));
  }

  if (bytes_ + bytes > kMostRowBytes) {
    cut_reason_ = fmt::format(
        "The rows from number {} on would make the answer larger than {} KiB. Name fewer columns, "
        "or sum in SQL.",
        rows_.size() + 1, kMostRowBytes >> 10);
    return false;
  }

  bytes_ += bytes;
  rows_.push_back(std::move(row));
  return true;
}

std::string RowCollector::markdown() const {
  std::string text = "|", rule = "|";
  for (std::string const& column : columns_) {
    text += fmt::format(" {} |", in_code(column, kMostCellBytes));
    rule += "---|";
  }
  text += "\n" + rule + "\n";

  for (OrderedJson const& row : rows_) {
    text += "|";
    for (OrderedJson const& value : row) text += fmt::format(" {} |", shown_value(value));
    text += "\n";
  }
  std::string const why = cut_reason_.empty() ? "" : " " + cut_reason_;
  return text + fmt::format("\n{}.{}\n", base::format_count(rows_.size(), "row"), why);
}

}  // namespace stepscope::agent
