// The processes of an export while it is read: rows by thread, stream and counter, in any order;
// from them one trace a process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "trace/base/hash_number.h"
#include "trace/import/formats/nsys/names.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::import::nsys {

/// A process of the export: its global id without the thread's 24 bits. 0 = not known.
using ProcessKey = uint64_t;
inline ProcessKey process_of_global_id(int64_t global_id) {
  return static_cast<uint64_t>(global_id) >> 24U;
}
/// As the system numbers it.
inline int64_t system_id(ProcessKey process) { return static_cast<int64_t>(process & 0xFF'FFFFU); }

/// What separates rows into tracks. In the order in which tracks are shown.
struct TrackKey {
  enum class Kind : uint8_t { kThread, kStream, kCounter };
  Kind kind = Kind::kThread;
  int64_t id = 0;       ///< of a thread (kUnknownThread: not known) or a stream; a counter's number
  int32_t device = -1;  ///< of a stream or a counter
  int64_t context = 0;  ///< of a stream
  std::string name;     ///< of a counter

  friend auto operator<=>(TrackKey const&, TrackKey const&) = default;
};
inline constexpr int64_t kUnknownThread = -1;

struct TrackRows {
  model::EventBatch rows;
  uint64_t device_ops = 0, copies = 0, collectives = 0;
};

/// No machine has more of these; what a damaged export has beyond is put together.
inline constexpr size_t kMostTracks = size_t{1} << 16U, kMostProcesses = size_t{1} << 12U;
inline constexpr int64_t kLastDevice = 1023;

class Process {
 public:
  Process(ProcessKey key, Names& names) : identity(key), all_names_(names) {}

  TrackRows& track(TrackKey const& track_key) { return tracks[track_key]; }
  model::StringId name(NameIndex index) {
    model::StringId& id = index < ids_.size() ? ids_[index] : id_beyond(index);
    if (!id.valid()) [[unlikely]] {
      id = builder.intern(all_names_.text(index));
      ++used_names_;
    }
    return id;
  }
  model::StringId name(TableScan const& scan, int column) {
    return name(all_names_.of(scan, column));
  }
  /// To be called when all device ops are there; what follows is of them.
  void settle_contexts();
  /// The device that a context worked on; −1 = it did nothing.
  [[nodiscard]] int32_t device_of(int64_t context) const;
  /// The number of a stream on its device: that of CUDA, with the context's in the upper half where
  /// it is not the first that worked.
  [[nodiscard]] int64_t stream_number(int32_t device, int64_t context, int64_t stream) const;
  [[nodiscard]] uint64_t device_ops(int32_t device) const;
  [[nodiscard]] bool has_device_ops() const { return !ops_.empty(); }
  /// −1 = none or several.
  [[nodiscard]] int32_t only_device() const { return ops_.size() == 1 ? ops_.begin()->first : -1; }

  ProcessKey identity;
  model::TraceBuilder builder;
  std::map<TrackKey, TrackRows> tracks;
  bool is_traced = false;  ///< has more than calls of the system's libraries

 private:
  /// The id of a name that `ids_` does not reach to.
  model::StringId& id_beyond(NameIndex index);

  Names& all_names_;
  std::vector<model::StringId> ids_;  ///< by name
  std::unordered_map<NameIndex, model::StringId, base::HashNumber>
      sparse_ids_;  ///< by names beyond
  size_t used_names_ = 0;
  std::map<int32_t, uint64_t> ops_;  ///< by device
  std::map<int32_t, int64_t> first_contexts_;
  std::map<int64_t, int32_t> context_devices_;
};

/// What is read so far, of all processes.
class Processes {
 public:
  Processes(Database& source, Names& all_names) : database(source), names(all_names) {}
  Process& process(ProcessKey key);
  struct ThreadRows {
    Process* process = nullptr;
    TrackRows* track = nullptr;
  };
  /// The thread in a column with a global thread id; null: the export does not name the thread.
  ThreadRows thread(TableScan const& scan, int column);
  struct StreamRows {
    Process* process = nullptr;
    TrackRows* track = nullptr;
  };
  struct StreamKey {
    ProcessKey process = 0;
    int32_t device = 0;
    int64_t context = 0, stream = 0;
    friend bool operator==(StreamKey const&, StreamKey const&) = default;
  };
  StreamRows stream(StreamKey const& key);
  /// The process in a column with a global process id; null: the first process that has an id.
  ProcessKey process_key(TableScan const& scan, int column);

  struct Times {
    int64_t start = 0, dur = 0;
  };
  /// False: the row has no time and is counted. Trace time.
  bool read_times(TableScan const& scan, int start_column, int end_column, Times& times);
  [[nodiscard]] int64_t trace_time(int64_t time) const;

  [[nodiscard]] std::map<ProcessKey, Process>& all() { return processes_; }

  Database& database;
  Names& names;
  int64_t time_base = 0;  ///< subtracted from all times
  int64_t last_ns = 0;    ///< of anything that was read
  uint64_t untimed = 0, without_process = 0;
  uint64_t folded = 0;  ///< threads and streams that are more than there can be

 private:
  struct StreamHash {
    size_t operator()(StreamKey const& key) const;
  };
  TrackRows& track(Process& of, TrackKey const& key);

  std::map<ProcessKey, Process> processes_;
  size_t tracks_ = 0;
  std::unordered_map<int64_t, ThreadRows, base::HashNumber> threads_;  ///< by global id
  std::unordered_map<StreamKey, StreamRows, StreamHash> streams_;
  int64_t last_thread_ = 0;
  ThreadRows last_thread_rows_;
  bool knows_default_ = false;
  ProcessKey default_process_ = 0;
};

/// a − b, the farthest that there is where it is farther: TraceBuilder moves such times, and counts
/// them.
inline int64_t minus(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a < b ? INT64_MIN : INT64_MAX;
}

}  // namespace stepscope::import::nsys
