#include "trace/model/event_batch.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace stepscope::model {

std::vector<uint32_t> EventBatch::sorted_order() const {
  std::vector<uint32_t> order(size());
  std::iota(order.begin(), order.end(), 0U);
  auto const before = [&](uint32_t a, uint32_t b) { return start[a] != start[b] ? start[a] < start[b] : dur[a] > dur[b]; };
  if (!std::is_sorted(order.begin(), order.end(), before)) std::stable_sort(order.begin(), order.end(), before);
  return order;
}

std::vector<uint32_t> EventBatch::detail_rows() const {
  std::vector<uint32_t> rows(size());
  std::array<uint32_t, kDetailTableCount> next{};
  for (size_t i = 0; i < size(); ++i) {
    DetailTable const table = kind_info(kind[i]).table;
    if (table != DetailTable::kNone) rows[i] = next[static_cast<size_t>(table)]++;
  }
  return rows;
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
