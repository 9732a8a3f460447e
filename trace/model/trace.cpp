#include "trace/model/trace.h"

#include <algorithm>

namespace stepscope::model {

Trace::Columns::~Columns() = default;
Trace::~Trace() = default;

EventView Trace::events_of(TrackId track) const {
  Rows const rows = rows_of(track);
  auto const slice = [&](auto const& column) {
    return std::span(column).subspan(rows.first, rows.size());
  };
  EventView view;
  view.start = slice(columns_.start);
  view.dur = slice(columns_.dur);
  view.name = slice(columns_.name);
  view.kind = slice(columns_.kind);
  view.correlation = slice(columns_.correlation);
  // Detail rows are in the order of the rows that own them, so a track's rows of one table lie
  // together.
  auto const counts = count_details(view.kind);
  auto const take = [&]<class Row>(std::span<Row const>& span, size_t table) {
    if (counts[table] == 0) return;
    auto const owns = [&](EventKind kind) {
      return static_cast<size_t>(kind_info(kind).table) == table;
    };
    auto const first = std::find_if(view.kind.begin(), view.kind.end(), owns);
    uint32_t const begin =
        columns_.detail[rows.first + static_cast<uint32_t>(first - view.kind.begin())];
    // Where a table was not read, rows share one that says nothing.
    if (counts[table] <= details<Row>().size() - begin)
      span = details<Row>().subspan(begin, counts[table]);
  };
  [&]<size_t... Table>(std::index_sequence<Table...>) {
    (take(std::get<Table>(view.details), Table), ...);
  }
  (std::make_index_sequence<kDetailTableCount>());
  return view;
}

}  // namespace stepscope::model
