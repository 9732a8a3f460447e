#include "trace/model/event_batch.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "trace/model/event_view.h"

namespace stepscope::model {
namespace {

/// The order of rows, with ties broken by where they came, so that every sort by it is stable.
struct RowOrder {
  std::vector<int64_t> const& start;
  std::vector<int64_t> const& dur;

  bool operator()(uint32_t a, uint32_t b) const {
    if (start[a] != start[b]) return start[a] < start[b];
    if (dur[a] != dur[b]) return dur[a] > dur[b];
    return a < b;
  }
};

/// Up to one row in this many out of place, sorting these and merging beats sorting all.
constexpr size_t kFewDisplaced = 8;

std::vector<uint32_t> all_rows(size_t count) {
  std::vector<uint32_t> rows(count);
  std::iota(rows.begin(), rows.end(), 0U);
  return rows;
}

struct Split {
  std::vector<uint32_t> kept;       ///< in order
  std::vector<uint32_t> displaced;  ///< the others
};

/// Both rows of a pair in the wrong order are displaced, as either may be the one out of place: at
/// most twice as many as have to be.
Split split_by_order(RowOrder const& before, size_t count) {
  Split split;
  split.kept.reserve(count);

  for (uint32_t row = 0; row < count; ++row) {
    if (split.kept.empty() || before(split.kept.back(), row)) {
      split.kept.push_back(row);
      continue;
    }

    split.displaced.push_back(split.kept.back());
    split.displaced.push_back(row);
    split.kept.pop_back();
  }
  return split;
}

struct KeyedRow {
  uint64_t key;
  uint32_t row;
};

/// One stable pass over eight bits of the key; does nothing when they are the same in all rows.
void radix_pass(std::vector<KeyedRow>& rows, std::vector<KeyedRow>& other, unsigned shift) {
  constexpr size_t kBuckets = 256;
  auto const bucket = [&](KeyedRow const& row) { return row.key >> shift & (kBuckets - 1); };
  std::array<size_t, kBuckets> begin{};
  for (KeyedRow const& row : rows) ++begin[bucket(row)];
  if (begin[bucket(rows.front())] == rows.size()) return;
  size_t next = 0;
  for (size_t& count : begin) next += std::exchange(count, next);
  for (KeyedRow const& row : rows) other[begin[bucket(row)]++] = row;
  rows.swap(other);
}

/// Least significant byte first by start; rows of one start, few and side by side then, by
/// duration.
std::vector<uint32_t> radix_order(RowOrder const& before) {
  auto const [first, last] = std::minmax_element(before.start.begin(), before.start.end());
  auto const origin = static_cast<uint64_t>(*first);

  std::vector<KeyedRow> rows(before.start.size());
  for (uint32_t i = 0; i < rows.size(); ++i)
    rows[i] = {static_cast<uint64_t>(before.start[i]) - origin, i};

  std::vector<KeyedRow> other(rows.size());
  for (unsigned shift = 0; shift < 64 && (static_cast<uint64_t>(*last) - origin) >> shift != 0;
       shift += 8)
    radix_pass(rows, other, shift);

  std::vector<uint32_t> order(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) order[i] = rows[i].row;

  for (size_t i = 0; i < rows.size();) {
    size_t end = i + 1;
    while (end < rows.size() && rows[end].key == rows[i].key) ++end;
    if (end - i > 1)
      std::sort(order.begin() + static_cast<ptrdiff_t>(i),
                order.begin() + static_cast<ptrdiff_t>(end), before);
    i = end;
  }
  return order;
}

}  // namespace

bool EventBatch::is_sorted() const { return EventView(*this).is_sorted(); }

std::vector<uint32_t> EventBatch::sorted_order() const {
  RowOrder const before{start, dur};
  if (is_sorted()) return all_rows(size());
  auto [kept, displaced] = split_by_order(before, size());
  if (displaced.size() > size() / kFewDisplaced) return radix_order(before);
  std::sort(displaced.begin(), displaced.end(), before);
  std::vector<uint32_t> order(size());
  std::merge(kept.begin(), kept.end(), displaced.begin(), displaced.end(), order.begin(), before);
  return order;
}

std::vector<uint32_t> EventBatch::detail_rows() const { return model::detail_rows(kind); }

EventBatch sorted_copy(EventBatch const& batch) {
  std::vector<uint32_t> const details = batch.detail_rows();

  EventBatch out;
  out.reserve(batch.size());

  for (uint32_t const row : batch.sorted_order()) {
    out.start.push_back(batch.start[row]);
    out.dur.push_back(batch.dur[row]);
    out.name.push_back(batch.name[row]);
    out.kind.push_back(batch.kind[row]);
    out.correlation.push_back(batch.correlation[row]);
    copy_detail(batch.details, kind_info(batch.kind[row]).table, details[row], out.details);
  }
  return out;
}

uint32_t copy_detail(DetailTables const& from, DetailTable table, uint32_t row, DetailTables& to) {
  uint32_t new_row = 0;
  int index = 0;

  auto const copy = [&](auto const& source) {
    if (index++ != static_cast<int>(table)) return;
    auto& target = std::get<std::remove_cvref_t<decltype(source)>>(to);
    new_row = static_cast<uint32_t>(target.size());
    target.push_back(source[row]);
  };

  std::apply([&](auto const&... source) { (copy(source), ...); }, from);
  return new_row;
}

}  // namespace stepscope::model
