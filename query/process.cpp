#include "query/process.h"

#include <algorithm>

namespace stepscope::query {
namespace {

/// Rows of a track that share one stored end: ends take 1/128 of a column's bytes, and a search
/// looks at no more rows than that.
constexpr uint32_t kEndBlock = 128;

}  // namespace

bool Process::has_table(uint32_t track, model::DetailTable table) {
  if (table == model::DetailTable::kNone) return true;
  if (!has_tables_) find_tables();
  return ((tables_[track] >> static_cast<uint32_t>(table)) & 1U) != 0;
}

void Process::find_tables() {
  has_tables_ = true;
  for (uint32_t track = 0; track < trace().tracks().size(); ++track) {
    auto const rows = trace().rows_of(model::TrackId{track});
    uint32_t kinds = 0;
    for (uint32_t row = rows.first; row < rows.last; ++row)
      kinds |= 1U << static_cast<uint32_t>(trace().columns().kind[row]);

    uint32_t tables = 0;
    for (uint32_t kind = 0; kind < model::kKindCount; ++kind) {
      auto const table = model::kKindTable[kind].table;
      if (((kinds >> kind) & 1U) != 0 && table != model::DetailTable::kNone)
        tables |= 1U << static_cast<uint32_t>(table);
    }

    tables_.push_back(tables);
  }
}

void Process::find_ends() {
  has_ends_ = true;
  for (uint32_t track = 0; track < trace().tracks().size(); ++track) {
    auto const rows = trace().rows_of(model::TrackId{track});
    std::vector<int64_t>& ends = ends_.emplace_back();

    int64_t latest = INT64_MIN;
    for (uint32_t row = rows.first; row < rows.last; ++row) {
      latest = std::max(latest, trace().end(row));
      if ((row - rows.first) % kEndBlock == kEndBlock - 1 || row + 1 == rows.last)
        ends.push_back(latest);
    }
  }
}

uint32_t Process::first_ending_at(uint32_t track, int64_t end) {
  if (!has_ends_) find_ends();
  auto const rows = trace().rows_of(model::TrackId{track});
  std::vector<int64_t> const& ends = ends_[track];
  auto const block =
      static_cast<uint32_t>(std::lower_bound(ends.begin(), ends.end(), end) - ends.begin());
  return block == ends.size() ? rows.last : rows.first + block * kEndBlock;
}

void Process::sort_correlations() {
  has_correlations_ = true;
  auto const& correlation = trace().columns().correlation;
  for (uint32_t row = 0; row < trace().event_count(); ++row)
    if (correlation[row] != 0) by_correlation_.push_back(row);
  std::sort(by_correlation_.begin(), by_correlation_.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(correlation[a], a) < std::pair(correlation[b], b);
  });
}

std::span<uint32_t const> Process::rows_of_correlation(uint64_t correlation) {
  if (!has_correlations_) sort_correlations();
  auto const& column = trace().columns().correlation;
  auto const first = std::partition_point(by_correlation_.begin(), by_correlation_.end(),
                                          [&](uint32_t row) { return column[row] < correlation; });
  auto const last = std::partition_point(first, by_correlation_.end(),
                                         [&](uint32_t row) { return column[row] <= correlation; });
  return {first, last};
}

std::vector<model::StringId> Process::ids_of(std::string_view text) {
  if (!has_ids_) {
    has_ids_ = true;
    for (uint32_t id = 0; id < trace().strings().size(); ++id)
      ids_.emplace(cells_.text(model::StringId{id}), id);
  }
  std::vector<model::StringId> found;
  auto const [first, last] = ids_.equal_range(text);
  for (auto it = first; it != last; ++it) found.push_back(model::StringId{it->second});
  return found;
}

}  // namespace stepscope::query
