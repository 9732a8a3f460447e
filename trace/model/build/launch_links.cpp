// Links launch calls with the device ops that they launched, by correlation id.
#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/base/hash_number.h"
#include "trace/base/huge_pages.h"
#include "trace/model/build/lost_launches.h"
#include "trace/model/build/trace_builder.h"
#include "trace/model/kind_scan.h"

namespace stepscope::model {
namespace {

/// Rows with a correlation id, each in their order.
struct RowsWithId {
  base::Column<uint32_t> launches, ops;
};

RowsWithId find_rows_with_id(Trace::Columns const& columns) {
  uint64_t const* const correlation = columns.correlation.data();
  Trace::Rows const all{0, static_cast<uint32_t>(columns.kind.size())};
  RowsWithId rows{base::Column<uint32_t>(all.size()), base::Column<uint32_t>(all.size())};
  uint32_t *launch = rows.launches.data(), *op = rows.ops.data();

  for_each_row_of<EventKind::kLaunch>(columns, all, [&](uint32_t row) {
    *launch = row;
    launch += correlation[row] != 0 ? 1 : 0;
  });
  for_each_op_of(columns, all, [&](uint32_t row) {
    *op = row;
    op += correlation[row] != 0 ? 1 : 0;
  });

  rows.launches.resize(static_cast<size_t>(launch - rows.launches.data()));
  rows.ops.resize(static_cast<size_t>(op - rows.ops.data()));
  return rows;
}

/// Correlation id → row, in one array: a launch has at most one cache miss.
class SparseRows {
 public:
  /// Room for `count` ids.
  explicit SparseRows(size_t count) {
    constexpr size_t kSlotsPerId = 2;
    slots_.resize(std::bit_ceil(kSlotsPerId * count + 1));
  }
  /// False: the id has a row already, which stays.
  bool insert(uint64_t correlation, uint32_t row) {
    Slot& slot = slots_[place_of(correlation)];
    if (slot.row.valid()) return false;
    slot = {correlation, EventId{row}};
    return true;
  }
  [[nodiscard]] EventId find(uint64_t correlation) const {
    return slots_[place_of(correlation)].row;
  }

 private:
  struct Slot {
    uint64_t correlation = 0;
    EventId row;  ///< none: the slot is free
  };
  /// The id's slot, or the free one where it belongs. There is always a free one.
  [[nodiscard]] size_t place_of(uint64_t correlation) const {
    size_t const mask = slots_.size() - 1;
    size_t place = base::HashNumber{}(correlation)&mask;
    while (slots_[place].row.valid() && slots_[place].correlation != correlation)
      place = (place + 1) & mask;
    return place;
  }

  base::HashNumber hash_;
  std::vector<Slot> slots_;
};

/// Correlation id → row. Ids are mostly given out one after the other: then a plain array finds a
/// row in a nanosecond.
class CorrelationMap {
 public:
  /// For `count` rows with ids from `lowest` to `highest`.
  CorrelationMap(uint64_t lowest, uint64_t highest, size_t count) : lowest_(lowest) {
    constexpr uint64_t kMaxSparsity = 8;
    if (count > 0 && highest - lowest < kMaxSparsity * count)
      dense_.assign(highest - lowest + 1, EventId{});
    else
      sparse_.emplace(count);
  }
  /// False: the id has a row already, which stays.
  bool insert(uint64_t correlation, uint32_t row) {
    if (sparse_) return sparse_->insert(correlation, row);
    EventId& place = dense_[correlation - lowest_];
    if (place.valid()) return false;
    place = EventId{row};
    return true;
  }
  [[nodiscard]] EventId find(uint64_t correlation) const {
    if (sparse_) return sparse_->find(correlation);
    uint64_t const place = correlation - lowest_;  // wraps for lower ones: far too large then
    return place < dense_.size() ? dense_[place] : EventId{};
  }

 private:
  uint64_t lowest_;
  std::vector<EventId> dense_;
  std::optional<SparseRows> sparse_;
};

/// Launches that share an id: ids of a program that began again, or nested calls, whose outer one
/// counts.
class DoubledLaunches {
 public:
  explicit DoubledLaunches(Trace::Columns const& columns) : columns_(columns) {}
  void add(uint64_t correlation, uint32_t first, uint32_t row) {
    std::vector<uint32_t>& rows = rows_of_[correlation];
    if (rows.empty()) rows.push_back(first);
    rows.push_back(row);
  }
  /// To be called when all are there; returns how many are neither the first of their id nor within
  /// another.
  uint64_t sort() {
    uint64_t others = 0;

    for (auto& [correlation, rows] : rows_of_) {
      std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
        return std::pair(columns_.start[a], -columns_.dur[a]) <
               std::pair(columns_.start[b], -columns_.dur[b]);
      });

      auto outer = rows.begin();
      for (uint32_t const row : rows) {
        if (columns_.start[row] < columns_.start[*outer] + columns_.dur[*outer] || row == *outer)
          continue;
        *++outer = row;
        ++others;
      }

      rows.erase(outer + 1, rows.end());
    }
    return others;
  }
  /// The last launch of its id that began before the op; nothing: the id is not shared.
  [[nodiscard]] std::optional<uint32_t> launch_of(uint32_t op) const {
    if (rows_of_.empty()) return std::nullopt;
    auto const found = rows_of_.find(columns_.correlation[op]);
    if (found == rows_of_.end()) return std::nullopt;
    std::vector<uint32_t> const& rows = found->second;
    auto const behind =
        std::upper_bound(rows.begin(), rows.end(), columns_.start[op],
                         [&](int64_t start, uint32_t row) { return start < columns_.start[row]; });
    return behind == rows.begin() ? rows.front() : *std::prev(behind);
  }

 private:
  Trace::Columns const& columns_;
  std::unordered_map<uint64_t, std::vector<uint32_t>, base::HashNumber> rows_of_;
};

/// "hipStreamWaitEvent", "hipLaunchHostFunc": enqueue nothing that a device computes; ROCm gives
/// them the correlation of other work.
bool enqueues_no_op(std::string_view call) {
  auto const has = [call](std::string_view part) {
    return call.find(part) != std::string_view::npos;
  };
  return has("WaitEvent") || has("HostFunc") || has("Synchronize") || has("Query");
}

}  // namespace

void TraceBuilder::link_launches() {
  auto& columns = trace_.columns_;
  auto const count = static_cast<uint32_t>(columns.start.size());
  base::reserve_long(columns.link, count);
  base::append_copies(columns.link, count, EventId{});

  RowsWithId const rows = find_rows_with_id(columns);
  uint64_t const* const correlation = columns.correlation.data();
  int64_t const* const start = columns.start.data();
  EventId* const link = columns.link.data();

  uint64_t lowest = UINT64_MAX, highest = 0;
  for (uint32_t const row : rows.launches) {
    lowest = std::min(lowest, correlation[row]);
    highest = std::max(highest, correlation[row]);
  }

  CorrelationMap launches(lowest, highest, rows.launches.size());
  DoubledLaunches doubled(columns);
  for (uint32_t const row : rows.launches)
    if (!launches.insert(correlation[row], row))
      doubled.add(correlation[row], launches.find(correlation[row]).value, row);
  trace_.log_.doubled_launches += doubled.sort();

  uint64_t unmatched_ops = 0, negative_latencies = 0;
  for (uint32_t const row : rows.ops) {
    EventId const found = launches.find(correlation[row]);
    if (!found.valid()) {
      ++unmatched_ops;
      continue;
    }

    uint32_t const launch = doubled.launch_of(row).value_or(found.value);
    link[row].value = launch;
    EventId& first_op = link[launch];
    if (!first_op.valid() || start[row] < start[first_op.value]) first_op.value = row;
    negative_latencies += start[row] < start[launch] ? 1 : 0;
  }

  trace_.log_.unmatched_ops += unmatched_ops;
  trace_.log_.negative_latencies += negative_latencies;

  std::vector<uint32_t> unlinked;
  for (uint32_t const row : rows.launches) {
    if (link[row].valid()) continue;
    // A call within the one that owns the device ops, a driver's in the runtime's, is not lost.
    if (launches.find(correlation[row]).value == row) unlinked.push_back(row);
  }
  trace_.log_.unmatched_launches += count_lost_launches(columns, trace_.strings_, unlinked);
}

/// A call is the launch of a device op with its correlation and without a launch, whatever its name
/// is. The first of several such calls counts: it encloses the others.
void TraceBuilder::link_calls() {
  auto& columns = trace_.columns_;
  Trace::Rows const all{0, static_cast<uint32_t>(columns.kind.size())};
  std::unordered_map<uint64_t, uint32_t, base::HashNumber> calls;
  for_each_op_of(columns, all, [&](uint32_t row) {
    if (columns.correlation[row] != 0 && !columns.link[row].valid())
      calls.try_emplace(columns.correlation[row], UINT32_MAX);
  });

  for_each_row_of<EventKind::kApi>(columns, all, [&](uint32_t row) {
    auto const place =
        columns.correlation[row] == 0 ? calls.end() : calls.find(columns.correlation[row]);
    if (place == calls.end() || enqueues_no_op(trace_.strings_.text(columns.name[row]))) return;
    if (place->second == UINT32_MAX || columns.start[row] < columns.start[place->second])
      place->second = row;
  });

  for_each_op_of(columns, all, [&](uint32_t row) {
    if (columns.correlation[row] == 0 || columns.link[row].valid()) return;
    uint32_t const call = calls.find(columns.correlation[row])->second;
    if (call == UINT32_MAX) return;
    columns.kind[call] = EventKind::kLaunch;
    columns.link[row].value = call;
    EventId& first_op = columns.link[call];
    if (!first_op.valid() || columns.start[row] < columns.start[first_op.value])
      first_op.value = row;
    --trace_.log_.unmatched_ops;
    trace_.log_.negative_latencies += columns.start[row] < columns.start[call] ? 1 : 0;
  });
}

}  // namespace stepscope::model
