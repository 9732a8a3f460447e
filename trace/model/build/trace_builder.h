// Collects events in any order and turns them into an immutable Trace: sorts, nests, links launches
// with device ops, checks.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/model/build/column_spans.h"
#include "trace/model/event_batch.h"
#include "trace/model/trace.h"

namespace stepscope::model {

class TraceBuilder {
 public:
  TraceInfo& info() { return trace_.info_; }
  ImportLog& log() { return trace_.log_; }
  StringId intern(std::string_view text) { return trace_.strings_.intern(text); }
  [[nodiscard]] std::string_view text(StringId id) const { return trace_.strings_.text(id); }

  TrackId add_track(Track track);
  /// Replaces what is known of a track (a later block of a file knows its name or its losses).
  void update_track(TrackId id, Track track);
  [[nodiscard]] size_t track_count() const { return trace_.tracks_.size(); }
  /// Adds a device or replaces the one with the same id.
  void add_device(Device device);

  /// A batch that collects a track's events; add to it directly. Names must come from intern().
  EventBatch& events(TrackId track);
  /// Appends a whole batch (consistent by construction of EventBatch; checked). Batches that are
  /// sorted and follow each other in time are never sorted again.
  void append(TrackId track, EventBatch batch);

  /// Skips nesting: every depth is 0. For callers that do not need it.
  void leave_out_depth() { has_depth_ = false; }
  /// For tools whose calls are not all known by name: a call with the correlation of a device op is
  /// the op's launch.
  void take_calls_as_launches() { calls_launch_ = true; }

  /// The details of other tables (bit t of `wanted` = table t) are not kept: all their rows share
  /// one that says nothing.
  void leave_out_details(uint32_t wanted) { own_details_ = wanted; }

  /// No op is of a CUDA graph.
  void leave_out_graphs() { trace_.may_have_graphs_ = false; }

  /// Events far from all others (timestamp_outliers.h), which are left out; the caller tells of
  /// them.
  [[nodiscard]] uint64_t leave_out_timestamp_outliers();

  /// Merges the calls of communication libraries with their kernels, sorts by (track, start, −dur),
  /// repairs negative durations, computes depth and links, counts faults in the log. Tracks keep
  /// their ids. Events of equal key keep the order in which they came.
  [[nodiscard]] Trace finish() &&;

  /// In the place of batches, for who knows how many rows come and that they come in their order:
  /// room for so many of each track, track after track. All of it is the caller's to write.
  [[nodiscard]] RowSpans make_rows(std::span<uint32_t const> rows_of_tracks);
  /// Room for the details of these rows, to be written too: the n-th row of a kind that has a table
  /// owns the table's n-th row. Tables that are not wanted (bit t of `wanted` = table t) are not
  /// written: all their rows share one that says nothing.
  [[nodiscard]] DetailTables& make_details(std::array<size_t, kDetailTableCount> const& counts,
                                           uint32_t wanted);
  /// finish() of such rows: of each track are_in_order(), none of them a kCollectiveCall. What it
  /// is of batches with these rows.
  [[nodiscard]] Trace finish_rows() &&;

 private:
  /// What nesting a track's rows finds out.
  struct Nesting {
    int64_t first = std::numeric_limits<int64_t>::max(), last = std::numeric_limits<int64_t>::min();
    uint64_t overlapping = 0;
  };
  void count_dropped();
  void note_unexplained_kernels(bool has_calls);
  void repair_and_order();
  void build_columns();
  void add_tracks();
  void number_details();
  void nest();
  Nesting nest(size_t track);
  void number_depths(uint32_t first, uint32_t last);
  void link_launches();
  void link_calls();

  Trace trace_;
  std::vector<std::vector<EventBatch>> batches_;  ///< by track, as they came
  bool has_depth_ = true;
  bool calls_launch_ = false;
  uint32_t own_details_ = UINT32_MAX;  ///< bit t: each row has its own row of table t
};

}  // namespace stepscope::model
