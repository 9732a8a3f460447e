// The rows of one track on their way to the file, in the order of their starts: an event takes its row when it begins and gets
// its duration when it ends, so that nothing has to be sorted later. The rows of events that have not ended stay behind when the
// others are taken away.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "trace/model/event_batch.h"

namespace stepscope::tracer {

/// Used by the writer thread alone.
class TrackRows {
 public:
  /// An event that has begun: valid until end() or drop(), whatever happens to other rows.
  using Open = uint32_t;

  /// Begins a kRange, the frequent case.
  Open begin_range(int64_t start_ns, model::StringId name) {
    events_.add_range(start_ns, kNotEnded, name);
    return remember_last_row();
  }
  /// Begins an event of any kind; `detail` is what its kind asks for, or nothing.
  template <class... Detail>
  Open begin(model::EventKind kind, int64_t start_ns, model::StringId name, uint64_t correlation, Detail const&... detail) {
    events_.add(kind, start_ns, kNotEnded, name, correlation, detail...);
    return remember_last_row();
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
    uint32_t const row = row_[open];
    erase_detail(events_, row);
    events_.kind[row] = kind;
    events_.correlation[row] = correlation;
    (insert_detail(events_, row, detail), ...);
  }

  [[nodiscard]] int64_t start(Open open) const { return events_.start[row_[open]]; }
  [[nodiscard]] model::StringId name(Open open) const { return events_.name[row_[open]]; }
  [[nodiscard]] model::EventKind kind(Open open) const { return events_.kind[row_[open]]; }
  [[nodiscard]] uint64_t correlation(Open open) const { return events_.correlation[row_[open]]; }

  /// All rows, open and dropped ones among them.
  [[nodiscard]] size_t size() const { return events_.size(); }
  /// Rows that take() would give.
  [[nodiscard]] size_t ended() const { return events_.size() - (row_.size() - free_.size()) - dropped_.size(); }
  /// The rows of all ended events, in the order of their starts. Open ones stay, in the memory of `fresh` (which must be empty).
  model::EventBatch take(model::EventBatch fresh = {});

 private:
  static constexpr int64_t kNotEnded = -1;

  Open remember_last_row() {
    auto const row = static_cast<uint32_t>(events_.size() - 1);
    if (free_.empty()) {
      row_.push_back(row);
      return static_cast<Open>(row_.size() - 1);
    }
    Open const open = free_.back();
    free_.pop_back();
    row_[open] = row;
    return open;
  }
  void forget(Open open) { free_.push_back(open); }

  static void erase_detail(model::EventBatch& events, uint32_t row);
  template <class Detail>
  static void insert_detail(model::EventBatch& events, uint32_t row, Detail const& detail) {
    auto& table = std::get<std::vector<Detail>>(events.details);
    size_t const later = details_after(events, row, model::DetailTableOf<Detail>::value);
    table.insert(table.end() - static_cast<ptrdiff_t>(later), detail);
  }
  static size_t details_after(model::EventBatch const& events, uint32_t row, model::DetailTable table);
  [[nodiscard]] std::vector<Open> open_in_row_order() const;

  model::EventBatch events_;
  std::vector<uint32_t> row_;  ///< of each Open
  std::vector<Open> free_;     ///< to be given out again, the last one first: it is in the cache
  std::vector<uint32_t> dropped_;
};

}  // namespace stepscope::tracer
