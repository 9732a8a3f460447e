#include "viewer/far/density.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace stepscope::viewer {
namespace {

/// Cells of the finest grid: about one a bin, so that below their width a screen holds few bins; bounded for the sake of memory.
constexpr size_t kLeastCells = 256, kMostCells = size_t{1} << 17;

/// Adds what lies in [from, until), `value` evenly spread, to the columns that it touches: visit(column, share of the column).
template <class Visit>
void spread(double from, double until, size_t count, Visit visit) {
  auto const last = static_cast<double>(count);
  from = std::max(from, 0.0);
  until = std::min(until, last);
  for (auto column = static_cast<size_t>(std::min(from, last)); column < count && static_cast<double>(column) < until; ++column) {
    auto const left = std::max(from, static_cast<double>(column));
    auto const right = std::min(until, static_cast<double>(column + 1));
    visit(column, static_cast<float>(right - left));
  }
}

/// Every bin of the summary that touches the columns.
void add_bins(model::TrackSummary const& summary, double begin, double pixel, std::vector<DensityColumn>& columns) {
  if (summary.size() == 0) return;
  double const end = begin + pixel * static_cast<double>(columns.size());
  auto const after = std::partition_point(summary.begin.begin(), summary.begin.end(),
                                          [&](int64_t time) { return static_cast<double>(time) <= begin; });
  size_t bin = after == summary.begin.begin() ? 0 : static_cast<size_t>(after - summary.begin.begin()) - 1;
  for (; bin < summary.size() && static_cast<double>(summary.begin[bin]) < end; ++bin) {
    double const from = (static_cast<double>(summary.begin[bin]) - begin) / pixel;
    double const until = (static_cast<double>(summary.bin_end(bin)) - begin) / pixel;
    // A bin of no length has events of no length.
    double const length = std::max(until - from, 1e-9);
    std::array<float, model::kOpClassCount> dense{};
    for (size_t c = 0; c < dense.size(); ++c)
      dense[c] = static_cast<float>(static_cast<double>(summary.busy[c][bin]) / pixel / length);
    auto const starts = static_cast<float>(summary.starts[bin] / length);
    spread(from, from + length, columns.size(), [&](size_t column, float share) {
      DensityColumn& into = columns[column];
      for (size_t c = 0; c < dense.size(); ++c) into.busy[c] += dense[c] * share;
      into.starts += starts * share;
      into.depth = std::max(into.depth, summary.depth[bin]);
      into.known = true;
    });
  }
}

}  // namespace

DensityGrid::Cell DensityGrid::cell_of(DensityColumn const& column) {
  Cell cell;
  // Even the least busy cell is seen.
  for (size_t c = 0; c < cell.busy.size(); ++c)
    cell.busy[c] = static_cast<uint16_t>(std::ceil(std::clamp(column.busy[c], 0.0F, 1.0F) * kFull));
  cell.starts = column.starts;
  cell.depth = column.depth;
  return cell;
}

DensityGrid::DensityGrid(model::TrackSummary const& summary) {
  if (summary.size() == 0) return;
  size_t const cells = std::clamp(std::bit_ceil(summary.size()), kLeastCells, kMostCells);
  begin_ = static_cast<double>(summary.begin.front());
  width_ = std::max((static_cast<double>(summary.end) - begin_) / static_cast<double>(cells), 1.0);
  std::vector<DensityColumn> columns(cells);
  add_bins(summary, begin_, width_, columns);
  std::vector<Cell> level;
  level.reserve(cells);
  for (DensityColumn const& column : columns) level.push_back(cell_of(column));
  while (level.size() > 1) {
    std::vector<Cell> above(level.size() / 2);
    for (size_t i = 0; i < above.size(); ++i) {
      Cell const& left = level[2 * i];
      Cell const& right = level[2 * i + 1];
      for (size_t c = 0; c < above[i].busy.size(); ++c)
        above[i].busy[c] = static_cast<uint16_t>((uint32_t{left.busy[c]} + right.busy[c] + 1) / 2);
      above[i].starts = left.starts + right.starts;
      above[i].depth = std::max(left.depth, right.depth);
    }
    levels_.push_back(std::move(level));
    level = std::move(above);
  }
  levels_.push_back(std::move(level));
}

void DensityGrid::add_columns(model::TrackSummary const& summary, double begin, double pixel,
                              std::vector<DensityColumn>& columns) const {
  if (levels_.empty() || !(pixel > 0)) return;
  if (pixel < width_) return add_bins(summary, begin, pixel, columns);
  // The coarsest cells that are no wider than half a pixel: a pixel touches five of them at most.
  size_t level = 0;
  double width = width_;
  while (level + 1 < levels_.size() && width * 4 <= pixel) {
    width *= 2;
    ++level;
  }
  auto const& cells = levels_[level];
  double const per_pixel = pixel / width;
  for (size_t i = 0; i < columns.size(); ++i) {
    double const first = (begin - begin_) / width + per_pixel * static_cast<double>(i);
    DensityColumn& into = columns[i];
    spread(first, first + per_pixel, cells.size(), [&](size_t at, float share) {
      Cell const& cell = cells[at];
      auto const part = static_cast<float>(static_cast<double>(share) / per_pixel);
      for (size_t c = 0; c < cell.busy.size(); ++c) into.busy[c] += static_cast<float>(cell.busy[c]) / kFull * part;
      into.starts += cell.starts * share;
      into.depth = std::max(into.depth, cell.depth);
      into.known = true;
    });
  }
}

size_t DensityGrid::bytes() const {
  size_t bytes = 0;
  for (auto const& level : levels_) bytes += level.size() * sizeof(Cell);
  return bytes;
}

}  // namespace stepscope::viewer
