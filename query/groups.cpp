#include "query/groups.h"

#include <algorithm>
#include <bit>

namespace stepscope::query {
namespace {

using model::Cell;
using model::ColumnOf;
using model::TableColumn;

/// Numbers 64-bit keys in the order in which they come: open addressing, half full at most.
class Numbering {
 public:
  Numbering() { grow(); }
  uint32_t operator[](uint64_t key) {
    size_t at = place(key);
    while (slots_[at].number != kFree) {
      if (slots_[at].key == key) return slots_[at].number;
      at = (at + 1) & (slots_.size() - 1);
    }
    slots_[at] = {key, count_};
    uint32_t const number = count_++;
    if (count_ * size_t{2} > slots_.size()) grow();
    return number;
  }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  struct Slot {
    uint64_t key = 0;
    uint32_t number = kFree;
  };
  /// Fibonacci hashing: the high bits of a product depend on all bits of the key.
  [[nodiscard]] size_t place(uint64_t key) const { return (key * 0x9E3779B97F4A7C15ULL) >> shift_; }
  void grow() {
    std::vector<Slot> const old = std::move(slots_);
    slots_.assign(old.empty() ? 256 : old.size() * 2, {});
    shift_ = static_cast<unsigned>(64 - std::bit_width(slots_.size() - 1));
    for (Slot const& slot : old) {
      if (slot.number == kFree) continue;
      size_t at = place(slot.key);
      while (slots_[at].number != kFree) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }
  std::vector<Slot> slots_;
  unsigned shift_ = 56;
  uint32_t count_ = 0;
};

/// What one measure adds up to.
struct Accumulator {
  uint64_t count = 0;
  int64_t sum = 0;
  bool overflows = false;
  int64_t min = INT64_MAX, max = INT64_MIN;
  double real_sum = 0, real_min = 0, real_max = 0;

  void add(int64_t value) {
    ++count;
    overflows = __builtin_add_overflow(sum, value, &sum) || overflows;
    min = std::min(min, value);
    max = std::max(max, value);
  }
  void add(double value) {
    real_min = count == 0 ? value : std::min(real_min, value);
    real_max = count == 0 ? value : std::max(real_max, value);
    real_sum += value;
    ++count;
  }
};

/// The groups of one process.
class ProcessGroups {
 public:
  ProcessGroups(Process const& process, GroupPlan const& plan)
      : source_(process.cells()), plan_(plan) {
    for (size_t const key : plan.keys) {
      TableColumn const& column = plan.table->columns[key];
      if (column.of == ColumnOf::kTrack) track_keys_.push_back(&column);
      if (column.of == ColumnOf::kEvent || column.of == ColumnOf::kDetail)
        row_keys_.push_back(&column);
      if (column.of == ColumnOf::kEvent && column.name == "name") name_column_ = &column;
    }
    for (size_t const measure : plan.measures) measures_.push_back(&plan.table->columns[measure]);
  }

  /// Rows [first, last) of one track, those that the scan's conditions hold for. False: give up,
  /// see group_events().
  bool add_run(EventScan const& scan, uint32_t first, uint32_t last) {
    uint64_t outer = 0;
    for (TableColumn const* key : track_keys_)
      outer = pairs_[(outer << 32U) | code_of(*key, first)] + uint64_t{1};

    for (uint32_t row = first; row < last; ++row) {
      if (!scan.matches(row)) continue;
      uint64_t group = outer;
      // The codes of several keys become one number after the other; + 1 keeps them apart from "no
      // key yet".
      for (TableColumn const* key : row_keys_)
        group = pairs_[(group << 32U) | code_of(*key, row)] + uint64_t{1};
      if (!add_row(group, row)) return false;
    }

    return true;
  }

  [[nodiscard]] bool finish(Rows& rows) const;

 private:
  struct Group {
    uint32_t row = 0;  ///< one of its rows
    uint64_t count = 0;
  };

  /// The same for equal values; not necessarily different rows of Rows only then.
  uint32_t code_of(TableColumn const& column, uint32_t row) {
    if (&column == name_column_) return source_.trace().columns().name[row].value;
    Cell const cell = column.read(source_, row);
    if (cell.is_null()) return 0;
    bool const is_text = cell.type == Cell::Type::kText;
    uint64_t const bits = is_text ? std::bit_cast<uint64_t>(cell.text.data()) : cell.bits;
    return codes_[static_cast<size_t>(cell.type)][bits] * kTypes + static_cast<uint32_t>(cell.type);
  }
  static constexpr uint32_t kTypes = 6;
  static constexpr uint32_t kNowhere = UINT32_MAX;

  bool add_row(uint64_t group, uint32_t row) {
    if (group >= places_.size())
      places_.resize(std::max<size_t>(group + 1, places_.size() * 2), kNowhere);
    if (places_[group] == kNowhere) {
      places_[group] = static_cast<uint32_t>(groups_.size());
      groups_.push_back({row, 0});
      sums_.resize(sums_.size() + measures_.size());
    }

    size_t const place = places_[group];
    ++groups_[place].count;
    Accumulator* sum = sums_.data() + place * measures_.size();

    for (TableColumn const* measure : measures_) {
      Cell const cell = measure->read(source_, row);
      if (cell.type == Cell::Type::kInteger && measure->type == model::ColumnType::kInteger) {
        sum->add(cell.integer());
      } else if (cell.type == Cell::Type::kReal && measure->type == model::ColumnType::kReal) {
        sum->add(cell.real());
      } else if (!cell.is_null()) {
        return false;
      }
      ++sum;
    }

    return true;
  }

  model::TableSource const& source_;
  GroupPlan const& plan_;
  std::vector<TableColumn const*> track_keys_, row_keys_, measures_;
  TableColumn const* name_column_ = nullptr;
  std::array<Numbering, kTypes> codes_;  ///< by Cell::Type
  Numbering pairs_;
  std::vector<uint32_t> places_;  ///< by number of a pair + 1: in groups_
  std::vector<Group> groups_;
  std::vector<Accumulator> sums_;  ///< by group and measure
};

void add_sums(Accumulator const& sum, bool is_real, Rows& rows) {
  rows.add(Cell::of(sum.count));
  if (sum.count == 0) {
    for (int i = 1; i < kSumCount; ++i) rows.add({});
  } else if (is_real) {
    for (double const value : {sum.real_sum, sum.real_min, sum.real_max}) rows.add(Cell::of(value));
  } else {
    for (int64_t const value : {sum.sum, sum.min, sum.max}) rows.add(Cell::of(value));
  }
}

bool ProcessGroups::finish(Rows& rows) const {
  for (size_t group = 0; group < groups_.size(); ++group) {
    for (size_t const key : plan_.keys)
      rows.add(plan_.table->columns[key].read(source_, groups_[group].row));
    rows.add(Cell::of(groups_[group].count));
    for (size_t i = 0; i < measures_.size(); ++i) {
      Accumulator const& sum = sums_[group * measures_.size() + i];
      if (sum.overflows) return false;
      add_sums(sum, measures_[i]->type == model::ColumnType::kReal, rows);
    }
  }

  return true;
}

}  // namespace

std::string sum_column(Sum sum, std::string_view measure) {
  constexpr std::array<std::string_view, kSumCount> kNames = {"count", "sum", "min", "max"};
  return std::string(kNames[static_cast<size_t>(sum)]) + "(" + std::string(measure) + ")";
}

std::vector<VirtualColumn> group_columns(GroupPlan const& plan) {
  using enum model::ColumnType;
  std::vector<VirtualColumn> columns;
  for (size_t const key : plan.keys)
    columns.push_back({std::string(plan.table->columns[key].name), plan.table->columns[key].type});

  columns.push_back({std::string(kCountColumn), kInteger});
  for (size_t const measure : plan.measures) {
    TableColumn const& column = plan.table->columns[measure];
    for (int i = 0; i < kSumCount; ++i)
      columns.push_back(
          {sum_column(static_cast<Sum>(i), column.name), i == 0 ? kInteger : column.type});
  }

  return columns;
}

std::optional<Rows> group_events(Processes const& processes, GroupPlan const& plan) {
  Rows rows(plan.keys.size() + 1 + plan.measures.size() * kSumCount);
  EventScan scan(processes, *plan.table);
  for (scan.start(plan.filter); !scan.at_end();) {
    size_t const process = scan.process();
    ProcessGroups groups(*processes[process], plan);
    for (; !scan.at_end() && scan.process() == process; scan.skip_run())
      if (!groups.add_run(scan, scan.row(), scan.run_end())) return std::nullopt;
    if (!groups.finish(rows)) return std::nullopt;
  }

  return rows;
}

}  // namespace stepscope::query
