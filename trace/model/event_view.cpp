#include "trace/model/event_view.h"

#include <algorithm>
#include <array>

namespace stepscope::model {

EventView::EventView(EventBatch const& batch)
    : start(batch.start),
      dur(batch.dur),
      name(batch.name),
      kind(batch.kind),
      correlation(batch.correlation) {
  std::apply([&](auto const&... table) { details = DetailSpans(table...); }, batch.details);
}

EventView EventView::take_front(size_t rows) {
  STEPSCOPE_CHECK(rows <= size());
  EventView front = *this;

  auto const split = [rows](auto& taken, auto& rest) {
    taken = rest.first(rows);
    rest = rest.subspan(rows);
  };

  split(front.start, start);
  split(front.dur, dur);
  split(front.name, name);
  split(front.kind, kind);
  split(front.correlation, correlation);

  auto const counts = count_details(front.kind);
  [&]<size_t... Table>(std::index_sequence<Table...>) {
    ((std::get<Table>(front.details) = std::get<Table>(details).first(counts[Table]),
      std::get<Table>(details) = std::get<Table>(details).subspan(counts[Table])),
     ...);
  }
  (std::make_index_sequence<kDetailTableCount>());

  return front;
}

bool EventView::is_sorted() const {
  // Without a branch a row, so that the compiler may compare many at once; chunks, so that a
  // disorder near the begin ends it.
  constexpr size_t kChunk = 1024;

  for (size_t first = 1; first < size(); first += kChunk) {
    size_t const last = std::min(first + kChunk, size());

    unsigned disorder = 0;
    for (size_t i = first; i < last; ++i)
      disorder |= unsigned{start[i] < start[i - 1]} |
                  (unsigned{start[i] == start[i - 1]} & unsigned{dur[i] > dur[i - 1]});
    if (disorder != 0) return false;
  }

  return true;
}

std::vector<uint32_t> detail_rows(std::span<EventKind const> kinds) {
  std::vector<uint32_t> rows(kinds.size());
  std::array<uint32_t, kDetailTableCount> next{};
  for (size_t i = 0; i < kinds.size(); ++i) {
    DetailTable const table = kind_info(kinds[i]).table;
    if (table != DetailTable::kNone) rows[i] = next[static_cast<size_t>(table)]++;
  }
  return rows;
}

std::array<size_t, kDetailTableCount> count_details(std::span<EventKind const> kinds) {
  // Counts by kind first: one counter a row. Several sets of counters, because rows of one kind
  // follow each other and each would wait for the counter that the row before has just written.
  constexpr size_t kSets = 8;
  std::array<std::array<uint32_t, 256>, kSets> by_kind{};

  size_t row = 0;
  for (; row + kSets <= kinds.size(); row += kSets)
    for (size_t set = 0; set < kSets; ++set) ++by_kind[set][static_cast<uint8_t>(kinds[row + set])];
  for (; row < kinds.size(); ++row) ++by_kind[0][static_cast<uint8_t>(kinds[row])];

  std::array<size_t, kDetailTableCount> counts{};
  for (int kind = 0; kind < kKindCount; ++kind) {
    auto const table = static_cast<int>(kind_info(static_cast<EventKind>(kind)).table);
    if (table < 0) continue;
    for (auto const& of_set : by_kind)
      counts[static_cast<size_t>(table)] += of_set[static_cast<size_t>(kind)];
  }

  return counts;
}

}  // namespace stepscope::model
