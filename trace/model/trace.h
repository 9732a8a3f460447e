// A Trace is everything one process recorded, immutable: tracks, devices, and one set of columns
// sorted by (track, start, −dur). Safe to read from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/base/column.h"
#include "trace/model/details.h"
#include "trace/model/event_view.h"
#include "trace/model/ids.h"
#include "trace/model/kinds.h"
#include "trace/model/string_table.h"

namespace stepscope::model {

enum class TrackKind : uint8_t { kThread = 0, kStream = 1, kCounter = 2 };

struct Track {
  TrackKind kind = TrackKind::kThread;
  std::string name;
  int64_t id = 0;  ///< thread id, or stream number on its device
  int32_t device =
      -1;  ///< of a stream, a device counter, or ranges and steps in a device's own time, else -1
  StreamKind stream_kind = StreamKind::kCompute;
  uint64_t dropped = 0;  ///< events lost while recording this track
};

struct Device {
  int32_t id = 0;
  std::string name;
  uint64_t capacity_bytes = 0;  ///< 0 = unknown
  uint32_t threads = 0;         ///< host threads or multiprocessors; 0 = unknown
  double peak_flops = 0;        ///< 0 = unknown
};

/// What a part of a trace (slice.h) cannot tell of the whole: its steps.
struct WholeSteps {
  int64_t count = 0;  ///< 0 = this is the whole
  int64_t first = 0;  ///< number of the first
  /// The steps that the part was made for, where `chosen_last` is not before the first. Others are
  /// in the part for what led to them: they are cut, and no step to measure.
  int64_t chosen_first = 0, chosen_last = -1;
  [[nodiscard]] bool has_choice() const { return count > 0 && chosen_first <= chosen_last; }
  [[nodiscard]] bool is_context(int64_t step) const {
    return has_choice() && (step < chosen_first || step > chosen_last);
  }
};

/// Who recorded what, where and when.
struct TraceInfo {
  std::string tool;  ///< program and version that recorded it
  std::string host;
  std::string command;  ///< command line of the traced process
  int64_t process_id = 0;
  int32_t rank = 0;  ///< in the job; < 0: unknown, open_run gives it one
  int32_t world_size = 1;
  int64_t origin_epoch_ns = 0;  ///< time 0 of the trace, ns since the Unix epoch; 0 = unknown
  WholeSteps whole_steps;       ///< when this is a part of a trace
  std::vector<std::pair<std::string, std::string>>
      facts;  ///< further facts for people: cpu, cores, driver, settings
};

/// Times lie within ±kMaxTime (73 years in ns), so that sums of two of them never overflow. What a
/// damaged file claims beyond is moved.
inline constexpr int64_t kMaxTime = int64_t{1} << 61;

/// What was wrong with the data, counted where it was found. All zero = nothing.
struct ImportLog {
  uint64_t dropped = 0;  ///< lost by the recorder (buffers full), tracks' `dropped` included
  uint64_t negative_durations = 0;  ///< repaired to 0
  uint64_t unmatched_launches = 0;  ///< launches whose device op is not in the trace
  uint64_t doubled_launches = 0;  ///< launches with the correlation id of an earlier one: ops were
                                  ///< linked with the last before them
  uint64_t unmatched_ops = 0;  ///< device ops with a correlation whose launch is not in the trace
  uint64_t negative_latencies = 0;  ///< device ops that start before their launch call began
  uint64_t overlapping_slices = 0;  ///< device ops that overlap another on the same stream
  uint64_t impossible_times = 0;    ///< events outside of kMaxTime, moved to it
  uint64_t unknown_events = 0;      ///< of kinds or attributes that we do not model
  uint64_t lost_blocks = 0;         ///< damaged blocks of the file that were left out
  bool truncated = false;  ///< the file has no footer: the process was killed or is still running
  std::vector<std::string> notes;  ///< for people, one fault each
};

class Trace {
 public:
  Trace() = default;
  Trace(Trace&&) noexcept = default;
  Trace& operator=(Trace&&) noexcept = default;
  ~Trace();  // as that of Columns

  struct Columns {
    base::Column<int64_t> start, dur;  ///< ns since the trace's origin; dur ≥ 0
    base::Column<StringId> name;
    base::Column<EventKind> kind;
    base::Column<uint64_t> correlation;  ///< 0 = none
    base::Column<uint32_t>
        detail;  ///< row in the kind's detail table; unused for kinds without one
    base::Column<EventId>
        link;  ///< launch → its first device op, device op → its launch; invalid = none
    base::Column<uint16_t> depth;  ///< nesting on its track: 0 = outermost
    base::Column<TrackId> track;

    Columns() = default;
    Columns(Columns const&) = default;
    Columns& operator=(Columns const&) = default;
    Columns(Columns&&) noexcept = default;
    Columns& operator=(Columns&&) noexcept = default;
    // Not inline: where a caller is cold, its copy would go through every row to do nothing.
    ~Columns();
  };
  /// Rows [first, last) of the columns.
  struct Rows {
    uint32_t first = 0, last = 0;
    [[nodiscard]] uint32_t size() const { return last - first; }
  };

  [[nodiscard]] TraceInfo const& info() const { return info_; }
  /// Where only the other traces of the run tell it.
  void assume_rank(int32_t rank) { info_.rank = rank; }
  void assume_world_size(int32_t world_size) { info_.world_size = world_size; }
  [[nodiscard]] ImportLog const& log() const { return log_; }
  [[nodiscard]] std::span<Track const> tracks() const { return tracks_; }
  [[nodiscard]] std::span<Device const> devices() const { return devices_; }
  [[nodiscard]] Columns const& columns() const { return columns_; }
  [[nodiscard]] uint32_t event_count() const {
    return static_cast<uint32_t>(columns_.start.size());
  }
  /// Event count of the trace whose skeleton this is (run_skeleton.h); event_count() of a whole
  /// trace.
  [[nodiscard]] uint64_t whole_event_count() const {
    return whole_event_count_.value_or(event_count());
  }
  [[nodiscard]] Rows rows_of(TrackId track) const {
    return {track_begin_[track.value], track_begin_[track.value + 1]};
  }
  /// The rows of a track with their details.
  [[nodiscard]] EventView events_of(TrackId track) const;
  [[nodiscard]] std::string_view text(StringId id) const { return strings_.text(id); }
  [[nodiscard]] StringTable const& strings() const { return strings_; }

  [[nodiscard]] int64_t start(uint32_t row) const { return columns_.start[row]; }
  [[nodiscard]] int64_t end(uint32_t row) const { return columns_.start[row] + columns_.dur[row]; }
  [[nodiscard]] EventKind kind(uint32_t row) const { return columns_.kind[row]; }
  [[nodiscard]] std::string_view name(uint32_t row) const {
    return strings_.text(columns_.name[row]);
  }
  [[nodiscard]] Track const& track(uint32_t row) const {
    return tracks_[columns_.track[row].value];
  }
  /// The detail of a row; Row must be the type that the row's kind has (kind_info(kind).table).
  template <class Row>
  [[nodiscard]] Row const& detail(uint32_t row) const {
    STEPSCOPE_CHECK(kind_info(columns_.kind[row]).table == DetailTableOf<Row>::value);
    return std::get<DetailColumn<Row>>(details_)[columns_.detail[row]];
  }
  /// Calls visit(detail) with the detail of a row, whatever its type; does nothing where the row's
  /// kind has none.
  template <class Visit>
  void visit_detail(uint32_t row, Visit&& visit) const {
    with_detail_type(kind_info(columns_.kind[row]).table,
                     [&]<class Row>(std::type_identity<Row>) { visit(detail<Row>(row)); });
  }
  template <class Row>
  [[nodiscard]] std::span<Row const> details() const {
    return std::get<DetailColumn<Row>>(details_);
  }
  /// False: no op is of a CUDA graph, so that callers need not look at the details of each.
  [[nodiscard]] bool may_have_graphs() const { return may_have_graphs_; }
  /// First start and last end over all events; {0, 0} when there are none.
  [[nodiscard]] std::pair<int64_t, int64_t> time_range() const { return time_range_; }

 private:
  friend class TraceBuilder;
  friend class SkeletonBuilder;
  TraceInfo info_;
  ImportLog log_;
  StringTable strings_;
  std::vector<Track> tracks_;
  std::vector<Device> devices_;
  std::vector<uint32_t> track_begin_ = {0};
  Columns columns_;
  DetailTables details_;
  std::pair<int64_t, int64_t> time_range_ = {0, 0};
  std::optional<uint64_t> whole_event_count_;
  bool may_have_graphs_ = true;
};

}  // namespace stepscope::model
