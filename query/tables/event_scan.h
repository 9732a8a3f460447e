// Walks the rows of an event table that fulfil simple conditions, without reading rows that cannot.
// It skips whole processes and tracks, finds times by binary search (the rows of a track are sorted
// by start), and looks up ids and correlations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "query/process.h"

namespace stepscope::query {

/// All conditions hold at once. Times are run time.
struct EventFilter {
  struct Range {
    int64_t low = INT64_MIN, high = INT64_MAX;  ///< both included
    [[nodiscard]] bool bounded() const { return low != INT64_MIN || high != INT64_MAX; }
    [[nodiscard]] bool has(int64_t value) const { return low <= value && value <= high; }
  };
  Range start, end, dur;
  /// `column`: "start_ns", "end_ns" or "dur_ns".
  [[nodiscard]] Range& range_of(std::string_view column) {
    if (column == "start_ns") return start;
    return column == "end_ns" ? end : dur;
  }
  /// The column's value for a process or a track (ColumnOf).
  struct Equal {
    model::TableColumn const* column;
    bool is_text;
    int64_t integer;
    std::string text;
    [[nodiscard]] bool holds(model::TableSource const& source, uint32_t row) const;
  };
  std::vector<Equal> equal;
  std::optional<int64_t> id, correlation;
  std::optional<std::string> kind, name;
  bool nothing = false;  ///< no row can fulfil it
};

/// Rows come by process, track and start.
class EventScan {
 public:
  /// `table` of TableRows::kEvents; processes and table outlive the scan.
  EventScan(Processes const& processes, model::TraceTable const& table)
      : processes_(processes), table_(table) {}

  /// Restarts the scan.
  void start(EventFilter filter);
  void next() {
    ++at_;
    find_row();
  }
  [[nodiscard]] bool at_end() const { return process_ == processes_.size(); }
  /// Index of the process, and row in it.
  [[nodiscard]] size_t process() const { return process_; }
  [[nodiscard]] uint32_t row() const { return lookup_ ? found_[at_] : at_; }
  /// End of the contiguous rows of this track from row() on. The caller may walk [row(), last)
  /// itself, taking rows for which matches() holds, and then calls skip_run().
  [[nodiscard]] uint32_t run_end() const { return lookup_ ? row() + 1 : last_; }
  [[nodiscard]] bool matches(uint32_t row) const;
  void skip_run() {
    at_ = lookup_ ? at_ + 1 : last_;
    find_row();
  }

 private:
  void find_row();
  bool next_run();
  bool enter_process();
  void enter_lookup();
  bool enter_track();

  Processes const& processes_;
  model::TraceTable const& table_;
  EventFilter filter_;
  size_t process_ = 0;
  bool inside_ = false;         ///< of process_: what follows is valid
  uint32_t track_ = 0;          ///< the next one to look at
  uint32_t at_ = 0, last_ = 0;  ///< rows, or places in found_
  bool lookup_ = false;
  std::vector<uint32_t> found_;
  std::vector<model::StringId> names_;
  std::optional<model::EventKind> kind_;
  EventFilter::Range start_of_process_, start_, end_;  ///< trace time; start_: of the track
};

}  // namespace stepscope::query
