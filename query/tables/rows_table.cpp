#include "query/tables/rows_table.h"

namespace stepscope::query {
namespace {

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

void RowsTable::best_index(sqlite3_index_info& info) {
  info.estimatedRows = rows_ ? static_cast<sqlite3_int64>(rows_->count()) : kGuessedRows;
  info.estimatedCost = static_cast<double>(info.estimatedRows);
}

std::unique_ptr<Cursor> RowsTable::open() { return std::make_unique<RowsCursor>(rows_, make_); }

}  // namespace stepscope::query
