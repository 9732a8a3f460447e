// Rows of one track, looked at where they are: in a batch or in a trace. What the file's encoder
// and summaries read.
#pragma once

#include <span>

#include "trace/model/event_batch.h"

namespace stepscope::model {

template <class Tables>
struct DetailSpansOf;
template <class... Rows>
struct DetailSpansOf<std::tuple<DetailColumn<Rows>...>> {
  using Type = std::tuple<std::span<Rows const>...>;
};
/// One span a detail table.
using DetailSpans = DetailSpansOf<DetailTables>::Type;

/// Columns of equal length; as in EventBatch, the n-th row of a kind with a detail table owns the
/// n-th row of that table's span. Valid as long as what it looks at.
struct EventView {
  std::span<int64_t const> start, dur;
  std::span<StringId const> name;
  std::span<EventKind const> kind;
  std::span<uint64_t const> correlation;
  DetailSpans details;

  EventView() = default;
  explicit EventView(EventBatch const& batch);
  [[nodiscard]] size_t size() const { return start.size(); }
  [[nodiscard]] bool empty() const { return start.empty(); }
  /// The first `rows` rows (there must be as many), taken off this view.
  EventView take_front(size_t rows);
  /// Whether the rows are in (start, −dur) order.
  [[nodiscard]] bool is_sorted() const;
};

/// For every row, its row in its kind's detail table (0 for kinds without one).
std::vector<uint32_t> detail_rows(std::span<EventKind const> kinds);
/// How many rows of each detail table events of these kinds own.
std::array<size_t, kDetailTableCount> count_details(std::span<EventKind const> kinds);

}  // namespace stepscope::model
