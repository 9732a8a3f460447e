#include "query/tables/rows_table.h"

#include "trace/base/pack.h"

namespace stepscope::query {
namespace {

using model::Cell;

class RowsCursor final : public Cursor {
 public:
  RowsCursor(std::optional<Rows>& rows, RowsTable::Make const& make) : rows_(rows), make_(make) {}
  void start(char const*, std::span<sqlite3_value*>) override {
    if (!rows_) rows_ = make_();
    row_ = 0;
  }
  void next() override { ++row_; }
  [[nodiscard]] bool at_end() const override { return !rows_ || row_ >= rows_->count(); }
  [[nodiscard]] model::Cell column(size_t index) const override { return rows_->cell(row_, index); }
  [[nodiscard]] int64_t row_id() const override { return static_cast<int64_t>(row_); }

 private:
  std::optional<Rows>& rows_;
  RowsTable::Make const& make_;
  size_t row_ = 0;
};

/// They are not counted yet when a query is planned; they are fewer than events.
constexpr int64_t kGuessedRows = 1000;

}  // namespace

std::string Rows::packed() const {
  base::Packer at;
  at(uint64_t{columns_}, uint64_t{cells_.size()});
  for (Cell const& cell : cells_) {
    at(cell.type, cell.bits);
    if (cell.type == Cell::Type::kText) at(std::string(cell.text));
  }
  return std::move(at).take();
}

bool Rows::add_packed(std::string_view bytes) {
  base::Unpacker at(bytes);
  uint64_t columns = 0, cells = 0;
  at(columns, cells);
  constexpr size_t kLeastOfCell = sizeof(Cell::Type) + sizeof(Cell::bits);
  if (columns != columns_ || columns == 0 || cells % columns != 0 ||
      cells > bytes.size() / kLeastOfCell)
    return false;

  for (uint64_t i = 0; i < cells; ++i) {
    Cell cell;
    at(cell.type, cell.bits);
    if (cell.type == Cell::Type::kText) at(texts_.emplace_back());
    if (cell.type == Cell::Type::kText) cell.text = texts_.back();
    add(cell);
  }
  return at.is_whole();
}

void RowsTable::best_index(sqlite3_index_info& info) {
  info.estimatedRows = rows_ ? static_cast<sqlite3_int64>(rows_->count()) : kGuessedRows;
  info.estimatedCost = static_cast<double>(info.estimatedRows);
}

std::unique_ptr<Cursor> RowsTable::open() { return std::make_unique<RowsCursor>(rows_, make_); }

}  // namespace stepscope::query
