#include "viewer/event_store/out_of_core/grids/gap_grid.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace stepscope::viewer {
namespace {

/// Gaps a cell, about: so many a pixel are looked at one by one.
constexpr size_t kGapsACell = 16;
constexpr size_t kLeastGapCells = 256, kMostGapCells = size_t{1} << 16;

/// Keeps the longer of two gaps. Lengths lie beside them: a look at the gaps themselves would wait
/// for memory.
void keep_longer(analyzer::DeviceGaps const& gaps, GapGrid::Longest gap, GapGrid::Longest& kept) {
  if (gap.gap == GapGrid::kNone) return;
  bool is_longer = kept.gap == GapGrid::kNone || gap.length > kept.length;
  if (gap.length == UINT32_MAX && kept.length == UINT32_MAX)
    is_longer = gaps.when(gap.gap).length() > gaps.when(kept.gap).length();
  if (is_longer) kept = gap;
}

/// The gaps from a place on in the cells that they touch, as long as they begin before the last
/// cell's end.
void add_gaps(analyzer::DeviceGaps const& gaps, size_t first, double begin, double width,
              std::vector<GapGrid::Longest>& cells) {
  auto const count = static_cast<double>(cells.size());

  for (size_t gap = first; gap < gaps.size(); ++gap) {
    analyzer::Interval const when = gaps.when(gap);
    double const from = (static_cast<double>(when.begin) - begin) / width;
    double const until = (static_cast<double>(when.end) - begin) / width;
    if (from >= count) break;
    if (until < 0) continue;

    auto const last = static_cast<size_t>(std::clamp(std::ceil(until), 1.0, count));
    GapGrid::Longest const found{
        static_cast<uint32_t>(gap),
        static_cast<uint32_t>(std::clamp<int64_t>(when.length(), 0, UINT32_MAX))};
    for (auto cell = static_cast<size_t>(std::clamp(from, 0.0, count - 1)); cell < last; ++cell)
      keep_longer(gaps, found, cells[cell]);
  }
}

}  // namespace

GapGrid::GapGrid(analyzer::DeviceGaps const& gaps) {
  if (gaps.size() == 0 || gaps.size() >= kNone) return;

  size_t const count =
      std::clamp(std::bit_ceil(gaps.size() / kGapsACell + 1), kLeastGapCells, kMostGapCells);
  auto const begin = static_cast<double>(gaps.when(0).begin),
             end = static_cast<double>(gaps.when(gaps.size() - 1).end);
  double const width = EvenCells<Longest>::width_of(begin, end, count);

  std::vector<Longest> finest(count);
  add_gaps(gaps, 0, begin, width, finest);
  cells_ =
      EvenCells<Longest>(begin, width, std::move(finest), [&](Longest left, Longest const& right) {
        keep_longer(gaps, right, left);
        return left;
      });
}

std::vector<GapGrid::Longest> GapGrid::longest(analyzer::DeviceGaps const& gaps, double begin,
                                               double pixel, size_t count) const {
  std::vector<Longest> result(count);

  if (cells_.empty() || count == 0 || !(pixel > 0)) return result;
  if (pixel < cells_.width()) {
    add_gaps(gaps, gaps.exponential_search(static_cast<int64_t>(begin)), begin, pixel, result);
    return result;
  }
  auto const [cells, width] = cells_.level(pixel);
  double const offset = (begin - cells_.begin()) / width, per_pixel = pixel / width;
  auto const last = static_cast<double>(cells.size());

  for (size_t i = 0; i < count; ++i) {
    double const from = offset + per_pixel * static_cast<double>(i), until = from + per_pixel;
    if (until <= 0 || from >= last) continue;
    auto const end = static_cast<size_t>(std::ceil(std::min(until, last)));
    for (auto cell = static_cast<size_t>(std::max(from, 0.0)); cell < end; ++cell)
      keep_longer(gaps, cells[cell], result[i]);
  }

  return result;
}

}  // namespace stepscope::viewer
