#include "viewer/event_store/out_of_core/grids/density.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace stepscope::viewer {
namespace {

/// Cells of the finest grid: about one a bin, so that below their width a screen holds few bins;
/// bounded for the sake of memory.
constexpr size_t kLeastCells = 256, kMostCells = size_t{1} << 17;

/// Adds what lies in [from, until), `value` evenly spread, to the columns that it touches:
/// visit(column, share of the column).
template <class Visit>
void spread(double from, double until, size_t count, Visit visit) {
  auto const last = static_cast<double>(count);
  from = std::max(from, 0.0);
  until = std::min(until, last);

  for (auto column = static_cast<size_t>(std::min(from, last));
       column < count && static_cast<double>(column) < until; ++column) {
    auto const left = std::max(from, static_cast<double>(column));
    auto const right = std::min(until, static_cast<double>(column + 1));
    visit(column, static_cast<float>(right - left));
  }
}

/// Every bin of the summary that touches the columns.
void add_bins(model::TrackSummary const& summary, double begin, double pixel,
              std::vector<DensityColumn>& columns) {
  if (summary.size() == 0) return;

  double const end = begin + pixel * static_cast<double>(columns.size());
  auto const after =
      std::partition_point(summary.begin.begin(), summary.begin.end(),
                           [&](int64_t time) { return static_cast<double>(time) <= begin; });
  size_t bin =
      after == summary.begin.begin() ? 0 : static_cast<size_t>(after - summary.begin.begin()) - 1;

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

DensityGrid::Cell DensityGrid::join(Cell const& left, Cell const& right) {
  Cell joined;
  for (size_t c = 0; c < joined.busy.size(); ++c)
    joined.busy[c] = static_cast<uint16_t>((uint32_t{left.busy[c]} + right.busy[c] + 1) / 2);
  joined.starts = left.starts + right.starts;
  joined.depth = std::max(left.depth, right.depth);
  return joined;
}

DensityGrid::DensityGrid(Summaries summaries) {
  size_t bins = 0;
  double begin = 0, end = 0;
  for (model::TrackSummary const* const summary : summaries) {
    if (summary->size() == 0) continue;
    auto const first = static_cast<double>(summary->begin.front()),
               last = static_cast<double>(summary->end);
    begin = bins == 0 ? first : std::min(begin, first);
    end = bins == 0 ? last : std::max(end, last);
    bins += summary->size();
  }
  if (bins == 0) return;

  size_t const count = std::clamp(std::bit_ceil(bins), kLeastCells, kMostCells);
  double const width = EvenCells<Cell>::width_of(begin, end, count);
  std::vector<DensityColumn> columns(count);
  for (model::TrackSummary const* const summary : summaries)
    add_bins(*summary, begin, width, columns);

  std::vector<Cell> finest;
  finest.reserve(count);
  for (DensityColumn const& column : columns) finest.push_back(cell_of(column));
  cells_ = EvenCells<Cell>(begin, width, std::move(finest), join);
}

void DensityGrid::add_columns(Summaries summaries, double begin, double pixel,
                              std::vector<DensityColumn>& columns) const {
  if (cells_.empty() || !(pixel > 0)) return;
  if (pixel < cells_.width()) {
    for (model::TrackSummary const* const summary : summaries)
      add_bins(*summary, begin, pixel, columns);
    return;
  }

  // A pixel touches five of them at most.
  auto const [cells, width] = cells_.level(pixel / 2);
  double const per_pixel = pixel / width, offset = (begin - cells_.begin()) / width;
  auto const count = static_cast<double>(cells.size());
  auto const of_pixel = static_cast<float>(1 / per_pixel);

  for (size_t i = 0; i < columns.size(); ++i) {
    double const from = offset + per_pixel * static_cast<double>(i), until = from + per_pixel;
    if (until <= 0 || from >= count) continue;
    auto const first = static_cast<size_t>(std::max(from, 0.0));
    auto const last = std::max(static_cast<size_t>(std::ceil(std::min(until, count))), first + 1);

    DensityColumn& into = columns[i];
    for (size_t at = first; at < last; ++at) {
      Cell const& cell = cells[at];
      // Only a part of the first and the last cell lies in the pixel.
      auto share = 1.0F;
      if (at == first)
        share -= static_cast<float>(std::max(from, 0.0) - static_cast<double>(first));
      if (at + 1 == last)
        share -= static_cast<float>(static_cast<double>(last) - std::min(until, count));

      float const part = share * of_pixel / kFull;
      for (size_t c = 0; c < cell.busy.size(); ++c)
        into.busy[c] += static_cast<float>(cell.busy[c]) * part;
      into.starts += cell.starts * share;
      into.depth = std::max(into.depth, cell.depth);
    }
    into.known = true;
  }
}

}  // namespace stepscope::viewer
