// What the writer thread has decoded and not yet written: names, tracks, devices, and one batch of events a track.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/base/expected.h"
#include "trace/file/writer.h"
#include "trace/model/event_batch.h"
#include "trace/model/string_table.h"
#include "trace/model/trace.h"

namespace stepscope::tracer {

/// Used by the writer thread alone.
class TraceStore {
 public:
  /// A batch that has waited this long is written even when it is small: what a killed process loses at most, twice over.
  static constexpr int64_t kMaxAgeNs = 500'000'000;

  model::TraceInfo info;
  model::ImportLog log;

  model::StringId intern(std::string_view text) { return strings_.intern(text); }
  [[nodiscard]] std::string_view text(model::StringId id) const { return strings_.text(id); }

  model::TrackId add_track(model::Track track);
  /// The track of a device's stream, made with a plain name when it is not there.
  model::TrackId stream_track(int32_t device, int64_t stream);
  /// Changes to what is returned need describe_again().
  [[nodiscard]] model::Track& track(model::TrackId id) { return tracks_[id.value]; }
  [[nodiscard]] std::vector<model::Track> const& tracks() const { return tracks_; }
  [[nodiscard]] std::vector<model::Device> const& devices() const { return devices_; }
  /// Adds the device or replaces what was known of it.
  void set_device(model::Device device);
  void describe_again() { description_changed_ = true; }

  [[nodiscard]] model::EventBatch& events(model::TrackId id) { return batches_[id.value].events; }

  /// Writes the batches that are full or older than kMaxAgeNs, or all of them, after the names and descriptions that they need.
  /// Batches are emptied even when writing fails: the caller counts lost_rows().
  base::Expected<void> flush(file::TraceWriter& writer, int64_t now_ns, bool all);
  /// Empties every batch without writing; their rows count as lost.
  void discard();

  [[nodiscard]] uint64_t written_rows() const { return written_rows_; }
  [[nodiscard]] uint64_t lost_rows() const { return lost_rows_; }

 private:
  struct Batch {
    model::EventBatch events;
    int64_t since_ns = -1;  ///< trace time when it stopped being empty, as flush() saw it; -1 = empty
  };
  base::Expected<void> write_pending_strings(file::TraceWriter& writer);
  base::Expected<void> write_batch(file::TraceWriter& writer, model::TrackId track, Batch& batch);

  model::StringTable strings_;
  uint32_t written_strings_ = 1;  ///< id 0, the empty text, is never written
  std::vector<model::Track> tracks_;
  std::vector<model::Device> devices_;
  std::vector<Batch> batches_;
  std::map<std::pair<int32_t, int64_t>, model::TrackId> streams_;
  bool description_changed_ = true;
  uint64_t written_rows_ = 0, lost_rows_ = 0;
};

}  // namespace stepscope::tracer
