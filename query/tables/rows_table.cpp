#include "query/tables/rows_table.h"

#include <unordered_map>

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
  // Texts repeat from row to row: each goes once, and its cells have its number.
  std::unordered_map<std::string_view, uint64_t> numbers;
  std::vector<std::string> texts;
  for (Cell const& cell : cells_)
    if (cell.type == Cell::Type::kText && numbers.emplace(cell.text, texts.size()).second)
      texts.emplace_back(cell.text);

  base::Packer at;
  at(uint64_t{columns_}, uint64_t{cells_.size()}, texts);
  for (Cell const& cell : cells_)
    at(cell.type, cell.type == Cell::Type::kText ? numbers.at(cell.text) : cell.bits);
  return std::move(at).take();
}

bool Rows::add_packed(std::string_view bytes) {
  base::Unpacker at(bytes);
  uint64_t columns = 0, cells = 0;
  std::vector<std::string> texts;
  at(columns, cells, texts);
  constexpr size_t kLeastOfCell = sizeof(Cell::Type) + sizeof(Cell::bits);
  if (columns != columns_ || columns == 0 || cells % columns != 0 ||
      cells > bytes.size() / kLeastOfCell)
    return false;

  size_t const before = texts_.size();
  for (std::string& text : texts) texts_.push_back(std::move(text));
  for (uint64_t i = 0; i < cells; ++i) {
    Cell cell;
    at(cell.type, cell.bits);
    if (cell.type == Cell::Type::kText) {
      if (cell.bits >= texts.size()) return false;
      cell = Cell::of(std::string_view(texts_[before + cell.bits]));
    }
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
