// A table whose rows are in memory, made when they are first read: what the analysis says, sums of
// groups.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "query/tables/virtual_table.h"

namespace stepscope::query {

/// Cells row after row; texts of cells that live nowhere else are kept here.
class Rows {
 public:
  explicit Rows(size_t columns) : columns_(columns) {}
  /// As many cells as there are columns, one after the other.
  void add(model::Cell cell) { cells_.push_back(cell); }
  void add_text(std::string text) {
    add(model::Cell::of(std::string_view(texts_.emplace_back(std::move(text)))));
  }
  [[nodiscard]] size_t count() const { return columns_ == 0 ? 0 : cells_.size() / columns_; }
  [[nodiscard]] model::Cell const& cell(size_t row, size_t column) const {
    return cells_[row * columns_ + column];
  }

  /// The rows for another process of this program.
  [[nodiscard]] std::string packed() const;
  /// Adds rows that were packed. False: the bytes are something else, or have other columns.
  bool add_packed(std::string_view bytes);

 private:
  size_t columns_;
  std::vector<model::Cell> cells_;
  std::deque<std::string> texts_;
};

class RowsTable final : public VirtualTable {
 public:
  using Make = std::function<Rows()>;
  RowsTable(std::vector<VirtualColumn> columns, Make make)
      : columns_(std::move(columns)), make_(std::move(make)) {}
  [[nodiscard]] std::vector<VirtualColumn> columns() const override { return columns_; }
  void best_index(sqlite3_index_info& info) override;
  std::unique_ptr<Cursor> open() override;

 private:
  std::vector<VirtualColumn> columns_;
  Make make_;
  std::optional<Rows> rows_;
};

}  // namespace stepscope::query
