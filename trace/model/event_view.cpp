#include "trace/model/event_view.h"

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

std::array<size_t, kDetailTableCount> count_details(std::span<EventKind const> kinds) {
  // By kind first: one counter a row. Some sets of counters, because rows of one kind follow each
  // other and each would wait for the counter that the row before has just written.
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
