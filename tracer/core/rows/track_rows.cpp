#include "tracer/core/rows/track_rows.h"

#include <utility>

namespace stepscope::tracer {
namespace {

using model::DetailTable;

DetailTable table_of(RowBatch const& events, uint32_t row) {
  return model::kind_info(events.kind[row]).table;
}

/// Calls visit(vector) for that table of the batch; not for kNone.
template <class Visit>
void with_table(RowBatch& events, DetailTable table, Visit&& visit) {
  int index = 0;
  std::apply(
      [&](auto&... vector) {
        ((index++ == static_cast<int>(table) ? visit(vector) : void()), ...);
      },
      events.details);
}

/// Without the elements at `places`, which are sorted.
template <class Values>
void erase_places(Values& values, std::vector<uint32_t> const& places) {
  if (places.empty()) return;
  auto to = values.begin() + places.front();
  for (size_t i = 0; i < places.size(); ++i) {
    auto const from = values.begin() + places[i] + 1;
    auto const until = i + 1 < places.size() ? values.begin() + places[i + 1] : values.end();
    to = std::move(from, until, to);
  }
  values.erase(to, values.end());
}

/// For each of the rows, its place in the detail table of its kind (0 for kinds without one).
std::vector<uint32_t> detail_places(RowBatch const& events, std::vector<uint32_t> const& rows) {
  std::vector<uint32_t> places(rows.size());
  bool const any = std::any_of(rows.begin(), rows.end(), [&](uint32_t row) {
    return table_of(events, row) != DetailTable::kNone;
  });
  if (!any) return places;
  std::vector<uint32_t> const all = model::detail_rows(events.kind);
  for (size_t i = 0; i < rows.size(); ++i) places[i] = all[rows[i]];
  return places;
}

void copy_detail(RowBatch const& from, DetailTable table, uint32_t place, RowBatch& to) {
  with_table(to, table, [&](auto& rows) {
    rows.push_back(std::get<std::remove_reference_t<decltype(rows)>>(from.details)[place]);
  });
}

void copy_row(RowBatch const& from, uint32_t row, uint32_t detail_place, RowBatch& to) {
  to.start.push_back(from.start[row]);
  to.dur.push_back(from.dur[row]);
  to.name.push_back(from.name[row]);
  to.kind.push_back(from.kind[row]);
  to.correlation.push_back(from.correlation[row]);
  copy_detail(from, table_of(from, row), detail_place, to);
}

/// `rows` are sorted, `places` are those of their details.
void erase_rows(RowBatch& events, std::vector<uint32_t> const& rows,
                std::vector<uint32_t> const& places) {
  if (rows.empty()) return;

  for (int table = 0; table < model::kDetailTableCount; ++table) {
    std::vector<uint32_t> erased;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (static_cast<int>(table_of(events, rows[i])) == table) erased.push_back(places[i]);
    }
    with_table(events, static_cast<DetailTable>(table),
               [&](auto& vector) { erase_places(vector, erased); });
  }

  erase_places(events.start, rows);
  erase_places(events.dur, rows);
  erase_places(events.name, rows);
  erase_places(events.kind, rows);
  erase_places(events.correlation, rows);
}

}  // namespace

void TrackRows::add_unused_rows() {
  // Few for tracks of few events; never so many that they leave the cache before they are used.
  constexpr size_t kFewest = 32, kMost = 4096;
  events_.resize(size_ + std::clamp<size_t>(3 * size_, kFewest, kMost));
}

size_t TrackRows::details_after(uint32_t row, DetailTable table) const {
  size_t count = 0;
  for (uint32_t i = row + 1; i < size_; ++i)
    count += static_cast<size_t>(table_of(events_, i) == table);
  return count;
}

void TrackRows::erase_detail(uint32_t row) {
  DetailTable const table = table_of(events_, row);
  if (table == DetailTable::kNone) return;
  auto const later = static_cast<ptrdiff_t>(details_after(row, table));
  with_table(events_, table, [&](auto& vector) { vector.erase(vector.end() - later - 1); });
}

std::vector<TrackRows::Open> TrackRows::open_in_row_order() const {
  std::vector<bool> is_free(row_.size());
  for (Open open = first_free_; open != kNoOpen; open = row_[open]) is_free[open] = true;
  std::vector<Open> result;
  for (Open open = 0; open < row_.size(); ++open) {
    if (!is_free[open]) result.push_back(open);
  }
  std::sort(result.begin(), result.end(), [&](Open a, Open b) { return row_[a] < row_[b]; });
  return result;
}

RowBatch TrackRows::take(RowBatch fresh) {
  events_.resize(size_);

  std::vector<Open> const open = open_in_row_order();
  std::vector<uint32_t> leaving = std::exchange(dropped_, {});
  for (Open const one : open) leaving.push_back(row_[one]);
  std::sort(leaving.begin(), leaving.end());
  std::vector<uint32_t> const places = detail_places(events_, leaving);

  size_t at = 0;
  for (Open const one : open) {
    while (leaving[at] != row_[one]) ++at;
    copy_row(events_, leaving[at], places[at], fresh);
    row_[one] = static_cast<uint32_t>(fresh.size() - 1);
  }

  erase_rows(events_, leaving, places);
  std::swap(events_, fresh);
  size_ = static_cast<uint32_t>(events_.size());
  return fresh;
}

RowBatch TrackRows::open_rows(int64_t end_ns) const {
  std::vector<uint32_t> rows;
  for (Open const one : open_in_row_order()) rows.push_back(row_[one]);
  std::vector<uint32_t> const places = detail_places(events_, rows);

  RowBatch copied;
  for (size_t i = 0; i < rows.size(); ++i) {
    copy_row(events_, rows[i], places[i], copied);
    copied.dur.back() = std::max<int64_t>(end_ns - copied.start.back(), 0);
  }
  return copied;
}

}  // namespace stepscope::tracer
