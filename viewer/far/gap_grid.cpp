#include "viewer/far/gap_grid.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace stepscope::viewer {
namespace {

/// Gaps a cell, about: so many a pixel are looked at one by one.
constexpr size_t kGapsACell = 16;
constexpr size_t kLeastGapCells = 256, kMostGapCells = size_t{1} << 16;

/// Keeps the longer of two gaps.
void keep_longer(analyzer::DeviceGaps const& gaps, uint32_t gap, uint32_t& kept) {
  if (gap == GapGrid::kNone) return;
  if (kept == GapGrid::kNone || gaps.when(gap).length() > gaps.when(kept).length()) kept = gap;
}

/// The gaps from a place on in the cells that they touch, as long as they begin before the last cell's end.
void add_gaps(analyzer::DeviceGaps const& gaps, size_t first, double begin, double width, std::vector<uint32_t>& cells) {
  auto const count = static_cast<double>(cells.size());
  for (size_t gap = first; gap < gaps.size(); ++gap) {
    analyzer::Interval const when = gaps.when(gap);
    double const from = (static_cast<double>(when.begin) - begin) / width;
    double const until = (static_cast<double>(when.end) - begin) / width;
    if (from >= count) break;
    if (until < 0) continue;
    auto const last = static_cast<size_t>(std::clamp(std::ceil(until), 1.0, count));
    for (auto cell = static_cast<size_t>(std::clamp(from, 0.0, count - 1)); cell < last; ++cell)
      keep_longer(gaps, static_cast<uint32_t>(gap), cells[cell]);
  }
}

}  // namespace

GapGrid::GapGrid(analyzer::DeviceGaps const& gaps) {
  if (gaps.size() == 0 || gaps.size() >= kNone) return;
  size_t const cells = std::clamp(std::bit_ceil(gaps.size() / kGapsACell + 1), kLeastGapCells, kMostGapCells);
  begin_ = static_cast<double>(gaps.when(0).begin);
  width_ = std::max((static_cast<double>(gaps.when(gaps.size() - 1).end) - begin_) / static_cast<double>(cells), 1.0);
  std::vector<uint32_t> level(cells, kNone);
  add_gaps(gaps, 0, begin_, width_, level);
  while (level.size() > 1) {
    std::vector<uint32_t> above(level.size() / 2, kNone);
    for (size_t i = 0; i < level.size(); ++i) keep_longer(gaps, level[i], above[i / 2]);
    levels_.push_back(std::move(level));
    level = std::move(above);
  }
  levels_.push_back(std::move(level));
}

std::vector<uint32_t> GapGrid::longest(analyzer::DeviceGaps const& gaps, double begin, double pixel, size_t count) const {
  std::vector<uint32_t> result(count, kNone);
  if (levels_.empty() || count == 0 || !(pixel > 0)) return result;
  if (pixel < width_) {
    add_gaps(gaps, gaps.first_after(static_cast<int64_t>(begin)), begin, pixel, result);
    return result;
  }
  size_t level = 0;
  double width = width_;
  while (level + 1 < levels_.size() && width * 2 <= pixel) {
    width *= 2;
    ++level;
  }
  auto const& cells = levels_[level];
  auto const last = static_cast<double>(cells.size());
  for (size_t i = 0; i < count; ++i) {
    double const from = (begin - begin_ + pixel * static_cast<double>(i)) / width;
    double const until = from + pixel / width;
    if (until <= 0 || from >= last) continue;
    auto const end = static_cast<size_t>(std::ceil(std::min(until, last)));
    for (auto cell = static_cast<size_t>(std::max(from, 0.0)); cell < end; ++cell) keep_longer(gaps, cells[cell], result[i]);
  }
  return result;
}

}  // namespace stepscope::viewer
