// Blocks of events, in the order of the file, become one trace.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/base/hash_number.h"
#include "trace/import/formats/chrome/block_events.h"
#include "trace/import/formats/chrome/pipeline_workers.h"
#include "trace/import/formats/chrome/trace_header.h"
#include "trace/import/formats/chrome/track_roles.h"
#include "trace/model/build/trace_builder.h"
#include "trace/model/intervals.h"

namespace stepscope::import {

class MergedEvents {
 public:
  /// Longer names are cut, and counted.
  static constexpr size_t kMostNameBytes = size_t{1} << 14U;

  /// The rank of the process in its job, where that is known before its events. It tells who sends
  /// messages and receives them, and which member of a group this is. `world_size`: 0 = not known.
  void set_rank(std::optional<int32_t> rank, uint32_t world_size) {
    rank_ = rank;
    world_size_ = world_size;
  }
  /// The block's text must still be there.
  void add(BlockEvents block);
  [[nodiscard]] uint64_t event_count() const { return event_count_; }
  [[nodiscard]] bool is_kineto() const { return is_kineto_; }
  /// What was wrong so far.
  model::ImportLog& log() { return builder_.log(); }
  /// The rank is −1 where the trace does not state it.
  model::Trace finish(TraceHeader header) &&;

 private:
  /// BlockEvents::Saying, of a row of a batch.
  struct Saying {
    size_t batch;
    uint32_t row;
    DeviceOp op;
    int64_t step;
    bool is_op, is_placed;
    int32_t device;
  };
  /// BlockEvents::Part, of a row of a batch.
  struct Part {
    size_t batch;
    uint32_t row;
    int64_t step;
    int64_t sequence, model_chunk;
  };
  struct MergedTrack {
    TrackKey key;
    model::TrackId id;
    std::vector<model::EventBatch> batches;
    std::vector<Saying> sayings;
    std::vector<Part> parts;
    uint64_t events = 0, undecided = 0, copies = 0, collectives = 0;
    std::string name;     ///< of a stream that has one
    int32_t device = -1;  ///< in whose time its ranges are
  };
  struct Bracket {
    int64_t time_ns;
    model::StringId name;
    char phase;
    std::string id;
    std::optional<size_t> op;  ///< place in ops_
  };
  /// What a track of no known category is by the names of its process and thread
  /// (merged_roles.cpp).
  struct Decision {
    enum class What : uint8_t { kHost, kStream, kSteps, kDerived };
    What what = What::kHost;
    std::string device;
    int32_t wanted = 0;
    int64_t stream = 0;
  };
  /// Streams of one device number, by process (merged_processes.cpp).
  using TracksOfProcesses = std::map<std::string, std::vector<size_t>>;
  void take_pipeline();
  [[nodiscard]] bool is_pipeline_track(MergedTrack const& track) const;
  [[nodiscard]] std::optional<model::PipelinePlace> place_in_pipeline(
      MergedTrack const& track, PipelineLane const& lane) const;
  static void take_pipeline_ops(MergedTrack const& track, PipelineLane const& lane,
                                std::vector<PipelineOp>& ops);
  void add_pipeline_tracks(PipelineWorker worker, int32_t device, std::string const& process);
  void part_devices();
  void part_device(int32_t device, TracksOfProcesses const& processes, std::set<int32_t>& used);
  void part_correlations();
  void join_tracks(TracksOfProcesses const& processes, std::vector<bool>& is_joined);
  [[nodiscard]] bool are_apart(TracksOfProcesses const& processes) const;
  [[nodiscard]] model::IntervalSet busy_of(std::vector<size_t> const& tracks, int64_t stream) const;
  size_t track_of(TrackKey const& key);
  std::vector<model::StringId> intern_names(BlockEvents const& block);
  void add_users_and_groups(BlockEvents const& block);
  std::vector<size_t> add_tracks(BlockEvents& block, std::vector<model::StringId> const& names);
  void add_brackets(BlockEvents& block, std::vector<size_t> const& numbers,
                    std::vector<model::StringId> const& names);
  void add_rows(MergedTrack& track, model::EventBatch rows,
                std::vector<model::StringId> const& names);
  void add_own_rank(model::CollectiveDetail& detail) const;
  void add_late_rank(TraceHeader const& header);
  /// json_text(), and counts what is replaced in it.
  std::string repaired_text(std::string_view raw, size_t most);
  void add_metadata(BlockEvents::Metadata const& metadata);
  void close_brackets();
  void close_nested(size_t track, std::vector<Bracket> brackets);
  void add_closed(size_t track, Bracket const& begin, int64_t dur_ns);
  void decide_roles();
  [[nodiscard]] Decision decide(MergedTrack const& track) const;
  void find_first_uses();
  [[nodiscard]] bool is_called_elsewhere(MergedTrack const& track, Saying const& saying) const;
  [[nodiscard]] ProcessMeaning meaning_of(std::string const& process) const;
  [[nodiscard]] bool has_numbered_streams(std::string const& device) const;
  [[nodiscard]] bool has_stream_lanes(std::string const& process) const;
  [[nodiscard]] bool is_device_by_arguments(MergedTrack const& track) const;
  static bool is_undecided(MergedTrack const& track);
  void make_stream(MergedTrack& track);
  void make_steps(MergedTrack& track, bool is_device);
  void link_ranges();
  void add_steps_of_parts();
  [[nodiscard]] bool has_steps() const;
  static std::map<int64_t, model::Interval> steps_of_parts(MergedTrack const& track);
  static void part_steps(MergedTrack& track);
  void send_tracks();
  void close_async(size_t track, std::vector<Bracket> const& brackets);
  [[nodiscard]] std::string name_of_thread(TrackKey const& key) const;
  [[nodiscard]] model::Track describe(MergedTrack const& merged,
                                      std::set<std::string> const& processes) const;
  void name_tracks();
  void add_devices(TraceHeader const& header);
  void add_info(TraceHeader& header);
  void note_losses();
  void note_processes();
  std::string names_of_processes(std::set<std::string> const& processes) const;

  /// BlockEvents::last_op.
  struct LastOp {
    std::string process, thread;
    int64_t time_ns = 0;
    size_t track = 0;
  };

  model::TraceBuilder builder_;
  std::unordered_map<TrackKey, size_t, TrackKeyHash> numbers_;
  std::vector<MergedTrack> tracks_;
  std::map<size_t, std::vector<Bracket>> brackets_;  ///< by track
  std::map<std::pair<std::string, std::string>, std::string> thread_names_;
  std::map<std::string, std::string> process_names_, process_labels_;
  std::vector<DeviceOp> ops_;  ///< that brackets begin; `track` is a place in tracks_
  std::map<int32_t, std::set<std::string>> device_users_;  ///< BlockEvents::DeviceUser
  std::map<int32_t, std::pair<int32_t, std::string>>
      parted_devices_;  ///< by number: the one in the file, and the process
  std::map<int32_t, std::string> pipeline_devices_;  ///< names of workers, by number
  std::vector<std::pair<size_t, size_t>>
      parts_;  ///< tracks whose rank is known among several ranks', and the rank's place
  std::optional<LastOp> last_op_;
  std::optional<int32_t> rank_;
  uint32_t world_size_ = 0;
  /// The track that uses a correlation first. Only where arguments may tell devices.
  struct FirstUse {
    int64_t start_ns;
    MergedTrack const* track;
  };
  std::unordered_map<uint64_t, FirstUse, base::HashNumber> first_uses_;
  std::unordered_map<uint64_t, int32_t, base::HashNumber> ranks_in_groups_;  ///< by communicator
  std::optional<int64_t> origin_ns_;
  int64_t last_ns_ = 0;             ///< trace time
  std::set<std::string> repaired_;  ///< names
  uint64_t event_count_ = 0, untimed_ = 0, unvalued_ = 0, outliers_ = 0, broken_ = 0,
           cut_names_ = 0, unclosed_ = 0, unopened_ = 0, folded_tracks_ = 0;
  bool is_kineto_ = false;
};

}  // namespace stepscope::import
