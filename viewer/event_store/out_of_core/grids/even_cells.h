// A stretch of time in even cells, in levels, each half as fine as the one below: a question about
// any piece of it needs only a few cells.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace stepscope::viewer {

template <class Cell>
class EvenCells {
 public:
  struct Level {
    std::span<Cell const> cells;
    double width = 1;  ///< of a cell, ns
  };

  EvenCells() = default;
  /// From `begin` on. `width`: of a finest cell; `finest.size()` is a power of two. `join`: makes a
  /// cell of two neighbours.
  template <class Join>
  EvenCells(double begin, double width, std::vector<Cell> finest, Join join)
      : begin_(begin), width_(width) {
    levels_.push_back(std::move(finest));
    while (levels_.back().size() > 1) {
      std::vector<Cell> const& below = levels_.back();
      std::vector<Cell> above(below.size() / 2);
      for (size_t i = 0; i < above.size(); ++i) above[i] = join(below[2 * i], below[2 * i + 1]);
      levels_.push_back(std::move(above));
    }
  }
  /// The width of `cells` cells from `begin` to `end`, 1 ns at least.
  static double width_of(double begin, double end, size_t cells) {
    return std::max((end - begin) / static_cast<double>(cells), 1.0);
  }

  [[nodiscard]] bool empty() const { return levels_.empty(); }
  [[nodiscard]] double begin() const { return begin_; }
  /// The width of the finest cells.
  [[nodiscard]] double width() const { return width_; }
  /// The coarsest level whose cells are no wider than `most`; the finest where all are. Not of an
  /// empty one.
  [[nodiscard]] Level level(double most) const {
    size_t level = 0;
    double width = width_;
    for (; level + 1 < levels_.size() && width * 2 <= most; ++level) width *= 2;
    return {levels_[level], width};
  }
  [[nodiscard]] size_t bytes() const {
    size_t bytes = 0;
    for (auto const& level : levels_) bytes += level.size() * sizeof(Cell);
    return bytes;
  }

 private:
  double begin_ = 0, width_ = 1;
  std::vector<std::vector<Cell>> levels_;  ///< [0] = finest
};

}  // namespace stepscope::viewer
