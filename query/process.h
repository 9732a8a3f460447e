// A process of the run as queries read it: its tables' cells, and what finds rows without looking
// at all of them. Everything beyond the trace's own columns is made when it is first needed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/model/intervals.h"
#include "trace/model/run.h"
#include "trace/model/tables.h"

namespace stepscope::query {

/// Not thread-safe.
class Process {
 public:
  /// `place`: of its trace in the run. Run time = trace time + `offset_ns`.
  Process(model::Trace const& trace, int64_t offset_ns, uint32_t place)
      : cells_(trace, offset_ns), place_(place) {}

  [[nodiscard]] model::TableSource const& cells() const { return cells_; }
  [[nodiscard]] model::Trace const& trace() const { return cells_.trace(); }
  [[nodiscard]] uint32_t place() const { return place_; }

  /// From now on it has only the rows that begin within these, trace time, by track.
  void keep_starts(std::vector<model::Interval> kept) { kept_ = std::move(kept); }
  /// Null: all of the track's.
  [[nodiscard]] model::Interval const* kept_starts(uint32_t track) const {
    return kept_.empty() ? nullptr : &kept_[track];
  }

  /// Whether a track holds rows of a detail table.
  [[nodiscard]] bool has_table(uint32_t track, model::DetailTable table);
  /// No row of the track before this one ends at `end` (trace time) or later.
  [[nodiscard]] uint32_t first_ending_at(uint32_t track, int64_t end);
  /// Rows of a correlation that is not 0, ascending.
  [[nodiscard]] std::span<uint32_t const> rows_of_correlation(uint64_t correlation);
  /// Every id of a text as tables show it: different texts may be shown alike.
  [[nodiscard]] std::vector<model::StringId> ids_of(std::string_view text);

 private:
  void find_tables();
  void find_ends();
  void sort_correlations();

  model::TableSource cells_;
  uint32_t place_;
  std::vector<model::Interval> kept_;
  std::vector<uint32_t> tables_;  ///< by track: bit = DetailTable
  std::vector<std::vector<int64_t>>
      ends_;  ///< by track and block of rows: the latest end up to the block's last row
  bool has_tables_ = false, has_ends_ = false, has_correlations_ = false, has_ids_ = false;
  std::vector<uint32_t> by_correlation_;  ///< rows that have one, by (correlation, row)
  std::unordered_multimap<std::string_view, uint32_t> ids_;
};

/// In the order of the run's ranks.
using Processes = std::vector<std::unique_ptr<Process>>;

}  // namespace stepscope::query
