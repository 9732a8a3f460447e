// What the writer thread has decoded and not yet handed to the file: names, tracks, devices, and
// the rows of every track.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/model/string_table.h"
#include "trace/model/trace.h"
#include "tracer/core/file_thread.h"
#include "tracer/core/flight/name_spaces.h"
#include "tracer/core/rows/live_memory.h"
#include "tracer/core/rows/track_rows.h"
#include "tracer/core/threads/thread_names.h"

namespace stepscope::tracer {

/// Sees rows on their way to the output.
class RowWatcher {
 public:
  RowWatcher() = default;
  RowWatcher(RowWatcher const&) = delete;
  RowWatcher& operator=(RowWatcher const&) = delete;
  virtual ~RowWatcher() = default;

  /// Rows that have ended, in the order in which they are written.
  virtual void see(model::TrackId track, RowBatch const& rows) = 0;
  /// What is written from now on names other texts. `renamed` gives the new id of an old one.
  using Renamed = std::function<model::StringId(model::StringId)>;
  virtual void names_begin_anew(Renamed const& renamed) = 0;
};

/// Used by the writer thread alone.
class TraceStore {
 public:
  /// Rows that have waited this long are written even when they are few: what a killed process
  /// loses at most, twice over.
  static constexpr int64_t kMaxAgeNs = 500'000'000;

  model::TraceInfo info;
  model::ImportLog log;

  /// Where rows go; without one they stay here.
  void set_output(FileThread* output) { output_ = output; }

  // A capture of several windows has a file for each.
  /// Before the first row. Between two files the only rows that are kept are those of live
  /// allocations.
  void expect_several_files() { live_memory_.emplace(); }
  /// The file is about to be finished: rows that end from now on are of none.
  void leave_file() { output_ = nullptr; }
  /// The next file, or the first one: has the names, tracks and devices that are known, and the
  /// allocations that are live.
  void begin_file(FileThread* output);
  /// False where names have filled their memory: the next file would lack some of them.
  [[nodiscard]] bool can_begin_file() const { return first_string_ == 0; }

  // What has no end: a ring, or a stream of steps.
  /// Each watcher sees all rows that go to the output. It lives as long as rows come.
  void add_watcher(RowWatcher& watcher) { watchers_.push_back(&watcher); }
  /// `output` has no end, so that names are forgotten at times (name_spaces.h).
  void keep_ring(FileThread* output);
  /// Rows are for the watchers alone.
  void keep_nothing(FileThread* output);
  /// So many texts are there that begin_names_anew() is due.
  [[nodiscard]] bool has_many_names() const {
    return string_bytes_ >= kMaxStringBytes || strings_.size() >= kNamesOfSpace / 2;
  }
  /// Between two rounds of the sources: forgets all texts but those of rows that wait here. Calls
  /// `tell` with what gives other ids to the texts that somebody else goes on using.
  void begin_names_anew(std::function<void(RowWatcher::Renamed const&)> const& tell);
  /// Calls `call` with the rows of each track that have not ended, as if they ended at `now_ns`.
  void for_each_open(int64_t now_ns,
                     std::function<void(model::TrackId, RowBatch)> const& call) const;

  /// The text's id in the file. A text may get another id later, when the table of names was
  /// emptied to keep its memory bounded.
  model::StringId intern(std::string_view text);
  /// The text of an id that intern() returned since then.
  [[nodiscard]] std::string_view text(model::StringId id) const;

  model::TrackId add_track(model::Track track);
  /// The track of a thread of this process, made with a plain name when it is not there: all that
  /// sources know of a thread is there.
  model::TrackId thread_track(int64_t thread_id);
  /// The thread is one of many of which only one is there at a time: they have one track, by the
  /// number that stands for them. The first brings the rows along that it has already; a later one
  /// with rows keeps a track of its own.
  void share_thread_track(int64_t thread_id, uint64_t shared_by, std::string const& name);
  /// The track of a device's stream, made with a plain name when it is not there.
  model::TrackId stream_track(int32_t device, int64_t stream);
  [[nodiscard]] model::Track const& track(model::TrackId id) const { return tracks_[id.value]; }
  void set_track(model::TrackId id, model::Track track);
  [[nodiscard]] std::vector<model::Track> const& tracks() const { return tracks_; }
  /// With the names that the program gave them behind those of the hardware: "NVIDIA H100 (left
  /// half)".
  [[nodiscard]] std::vector<model::Device> devices() const;
  /// Adds the device or replaces what was known of it.
  void set_device(model::Device device);
  /// The program's own name of a device that is there or may come; empty = none.
  void name_device(int32_t device, std::string_view name);
  /// The thread's name as the system knows it; `known` until read_names() has brought it.
  std::string system_name(int64_t thread_id, std::string_view known = {});
  /// Has the names read that system_name() was asked for.
  void read_names();
  /// A caller asked for a name that is not known yet.
  [[nodiscard]] bool lacks_a_name() const { return names_->lacks_a_name(); }
  /// `info` or `log` changed.
  void describe_again() { description_changed_ = true; }

  /// The reference stays valid for the store's life.
  [[nodiscard]] TrackRows& rows(model::TrackId id) { return batches_[id.value].rows; }
  /// To be called after a row was begun in the track's rows: writes them once they fill a block and
  /// half of them have ended.
  void row_begun(model::TrackId id, TrackRows const& rows) {
    if (rows.size() >= file::kMaxBlockRows) [[unlikely]]
      write_full(id);
  }
  /// Writes the rows that are older than kMaxAgeNs, or all that have ended, and the names and
  /// descriptions that they need.
  void flush(int64_t now_ns, bool all);

 private:
  struct Batch {
    TrackRows rows;
    int64_t since_ns = -1;  ///< trace time when a row had ended, as flush() saw it first; -1 = none
    bool is_busy = false;   ///< has filled a block: worth keeping memory for
    bool track_changed = true;
  };
  void keep_live_memory(int64_t now_ns);
  void write_full(model::TrackId id);
  void write_rows(model::TrackId id);
  void write_what_rows_need();
  void write_strings();
  void write_description();
  void write_tracks();
  void track_changed(model::TrackId id);

  /// The table of names is emptied beyond this: a program that makes up a name an event must not
  /// fill the memory of its process.
  static constexpr size_t kMaxStringBytes = 64 << 20;

  FileThread* output_ = nullptr;
  model::StringTable strings_;
  size_t string_bytes_ = 0;
  uint32_t first_string_ = 0;     ///< id in the file of the table's id 0
  uint32_t written_strings_ = 1;  ///< of the table; id 0, the empty text, is never written
  std::vector<model::Track> tracks_;
  std::vector<uint32_t> changed_tracks_;
  std::vector<model::Device> devices_;
  std::map<int32_t, std::string> device_names_;  ///< that the program gave
  std::deque<Batch> batches_;
  std::unordered_map<int64_t, model::TrackId> threads_;
  std::unordered_map<uint64_t, model::TrackId> shared_by_threads_;
  std::shared_ptr<ThreadNames> names_ =
      std::make_shared<ThreadNames>();  ///< jobs of the output hold it, too
  std::map<std::pair<int32_t, int64_t>, model::TrackId> streams_;
  std::optional<LiveMemory> live_memory_;  ///< where several files are expected
  std::vector<RowWatcher*> watchers_;
  bool is_endless_ = false, keeps_nothing_ = false;
  RowBatch seen_;  ///< where nothing is kept: memory for the next batch
  uint32_t name_space_ = 0;
  bool description_changed_ = false;  ///< the session writes the first one when it makes the file
};

}  // namespace stepscope::tracer
