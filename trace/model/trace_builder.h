// Collects events in any order and turns them into an immutable Trace: sorts, nests, links launches with device ops, checks.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/model/event_batch.h"
#include "trace/model/trace.h"

namespace stepscope::model {

class TraceBuilder {
 public:
  TraceInfo& info() { return trace_.info_; }
  ImportLog& log() { return trace_.log_; }
  StringId intern(std::string_view text) { return trace_.strings_.intern(text); }

  TrackId add_track(Track track);
  /// Replaces what is known of a track (a later block of a file knows its name or its losses).
  void update_track(TrackId id, Track track);
  [[nodiscard]] size_t track_count() const { return trace_.tracks_.size(); }
  /// Adds a device or replaces the one with the same id.
  void add_device(Device device);

  /// A batch that collects a track's events; add to it directly. Names must come from intern().
  EventBatch& events(TrackId track);
  /// Appends a whole batch (consistent by construction of EventBatch; checked). Batches that are sorted and follow each other in
  /// time are never sorted again.
  void append(TrackId track, EventBatch batch);

  /// Events far from all others (far_events.h), which are left out; the caller tells of them.
  [[nodiscard]] uint64_t leave_out_far_events();

  /// Merges the calls of communication libraries with their kernels, sorts by (track, start, −dur), repairs negative durations,
  /// computes depth and links, counts faults in the log. Tracks keep their ids. Events of equal key keep the order in which they
  /// came.
  [[nodiscard]] Trace finish() &&;

 private:
  /// Of a track's rows.
  struct Nesting {
    int64_t first = std::numeric_limits<int64_t>::max(), last = std::numeric_limits<int64_t>::min();
    uint64_t overlapping = 0;
  };
  void note_unexplained_kernels();
  void repair_and_order();
  void build_columns();
  void number_details();
  void nest();
  Nesting nest(size_t track);
  void link_launches();

  Trace trace_;
  std::vector<std::vector<EventBatch>> batches_;  ///< by track, as they came
};

}  // namespace stepscope::model
