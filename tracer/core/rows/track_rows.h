// The rows of one track on their way to the file, in the order of their starts. An event takes its
// row when it begins and gets its duration when it ends, so that nothing has to be sorted later.
// The rows of events that have not ended stay behind when the others are taken away.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "trace/model/event_batch.h"
#include "tracer/core/rows/row_batch.h"

namespace stepscope::tracer {

/// Used by the writer thread alone.
class TrackRows {
 public:
  /// An event that has begun: valid until end() or drop(), whatever happens to other rows.
  using Open = uint32_t;

  /// Begins a kRange, the frequent case.
  Open begin_range(int64_t start_ns, model::StringId name) {
    return open_row(take_row(start_ns, name));
  }
  /// Begins an event of any kind; `detail` is what its kind asks for, or nothing.
  template <class... Detail>
  Open begin(model::EventKind kind, int64_t start_ns, model::StringId name, uint64_t correlation,
             Detail const&... detail) {
    check_table<Detail...>(kind);
    uint32_t const row = take_row(start_ns, name);
    events_.kind[row] = kind;
    events_.correlation[row] = correlation;
    (std::get<UnforkedColumn<Detail>>(events_.details).push_back(detail), ...);
    return open_row(row);
  }
  /// Adds an event that has ended; `dur_ns` ≥ 0.
  template <class... Detail>
  void add(model::EventKind kind, int64_t start_ns, int64_t dur_ns, model::StringId name,
           uint64_t correlation, Detail const&... detail) {
    check_table<Detail...>(kind);
    uint32_t const row = take_row(start_ns, name);
    events_.dur[row] = dur_ns;
    events_.kind[row] = kind;
    events_.correlation[row] = correlation;
    (std::get<UnforkedColumn<Detail>>(events_.details).push_back(detail), ...);
  }
  /// An end before the start gives a duration of 0.
  void end(Open open, int64_t end_ns) {
    uint32_t const row = row_[open];
    events_.dur[row] = std::max<int64_t>(end_ns - events_.start[row], 0);
    forget(open);
  }
  /// The event is not to be written.
  void drop(Open open) {
    dropped_.push_back(row_[open]);
    forget(open);
  }
  /// Its end told more: another kind and the details of that.
  template <class... Detail>
  void change(Open open, model::EventKind kind, uint64_t correlation, Detail const&... detail) {
    check_table<Detail...>(kind);
    uint32_t const row = row_[open];
    erase_detail(row);
    events_.kind[row] = kind;
    events_.correlation[row] = correlation;
    (insert_detail(row, detail), ...);
  }

  [[nodiscard]] int64_t start(Open open) const { return events_.start[row_[open]]; }
  [[nodiscard]] model::StringId name(Open open) const { return events_.name[row_[open]]; }
  [[nodiscard]] model::EventKind kind(Open open) const { return events_.kind[row_[open]]; }
  [[nodiscard]] uint64_t correlation(Open open) const { return events_.correlation[row_[open]]; }

  /// All rows, open and dropped ones among them.
  [[nodiscard]] size_t size() const { return size_; }
  /// Rows of events that have not ended: take() copies them.
  [[nodiscard]] size_t open() const { return open_count_; }
  /// Rows that take() would give.
  [[nodiscard]] size_t ended() const { return size_ - open_count_ - dropped_.size(); }
  /// The rows of all ended events, in the order of their starts. Open ones stay, in the memory of
  /// `fresh` (which must be empty).
  RowBatch take(RowBatch fresh = {});
  /// The rows of open events, in the order of their starts, as if they ended at `end_ns`.
  [[nodiscard]] RowBatch open_rows(int64_t end_ns) const;
  /// Gives each row the name that `rename(name)` returns for its own.
  template <class Rename>
  void rename(Rename const& rename) {
    for (uint32_t row = 0; row < size_; ++row) events_.name[row] = rename(events_.name[row]);
  }

 private:
  static constexpr Open kNoOpen = UINT32_MAX;

  template <class... Detail>
  static void check_table(model::EventKind kind) {
    model::DetailTable table = model::DetailTable::kNone;
    ((table = model::DetailTableOf<Detail>::value), ...);
    STEPSCOPE_CHECK(model::kind_info(kind).table == table);
  }
  /// A row of a kRange without correlation: unused rows are already that, so that two stores are
  /// enough.
  uint32_t take_row(int64_t start_ns, model::StringId name) {
    if (size_ == events_.size()) [[unlikely]]
      add_unused_rows();
    events_.start[size_] = start_ns;
    events_.name[size_] = name;
    return size_++;
  }
  Open open_row(uint32_t row) {
    ++open_count_;
    if (first_free_ == kNoOpen) [[unlikely]] {
      row_.push_back(row);
      return static_cast<Open>(row_.size() - 1);
    }
    Open const open = first_free_;
    first_free_ = row_[open];
    row_[open] = row;
    return open;
  }
  void forget(Open open) {
    --open_count_;
    row_[open] = first_free_;
    first_free_ = open;
  }
  void add_unused_rows();
  void erase_detail(uint32_t row);
  template <class Detail>
  void insert_detail(uint32_t row, Detail const& detail) {
    auto& table = std::get<UnforkedColumn<Detail>>(events_.details);
    auto const later =
        static_cast<ptrdiff_t>(details_after(row, model::DetailTableOf<Detail>::value));
    table.insert(table.end() - later, detail);
  }
  [[nodiscard]] size_t details_after(uint32_t row, model::DetailTable table) const;
  [[nodiscard]] std::vector<Open> open_in_row_order() const;

  RowBatch events_;  ///< rows from size_ on are unused: all zero but their names
  uint32_t size_ = 0;
  uint32_t open_count_ = 0;
  std::vector<uint32_t> row_;  ///< of each Open; of a free one the next free one
  Open first_free_ = kNoOpen;  ///< the last one that was forgotten: it is in the cache
  std::vector<uint32_t> dropped_;
};

}  // namespace stepscope::tracer
