// A process of a run that is open but not read. The index and description of its file are at hand
// at once; events are read on request, only the selected ones. Formats without an index are read
// whole when they are opened.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "trace/base/expected.h"
#include "trace/file/trace_file.h"
#include "trace/model/derive/clock_drift.h"
#include "trace/model/derive/collective_match.h"
#include "trace/model/derive/run_skeleton.h"
#include "trace/model/intervals.h"
#include "trace/model/run.h"

namespace stepscope::import {

/// The collectives of each device of a process that has some, by the devices' numbers. They come in
/// the order in which they began, with ends in trace time.
using CollectivesOfDevices = std::vector<std::vector<model::RecordedCollective>>;

/// A trace whose file another program reads, as a source that is open there. It may be read from
/// several threads.
class RemoteTrace {
 public:
  struct Facts {
    model::TraceHead head;
    std::vector<uint64_t> event_counts, kinds;  ///< by track
    model::Interval time_range;
    bool is_rank_by_name = false;
  };
  explicit RemoteTrace(Facts facts) : facts_(std::move(facts)) {}
  RemoteTrace(RemoteTrace const&) = delete;
  RemoteTrace& operator=(RemoteTrace const&) = delete;
  virtual ~RemoteTrace() = default;

  [[nodiscard]] Facts const& facts() const { return facts_; }
  // The same as of TraceSource. Errors: the other program cannot read, or is gone.
  [[nodiscard]] virtual base::Expected<std::vector<file::StepSpan>> steps() const = 0;
  [[nodiscard]] virtual base::Expected<model::Trace> copy(
      file::Selection const& selection) const = 0;
  [[nodiscard]] virtual std::optional<model::Trace> read_kinds(uint64_t kinds) const = 0;
  /// What read_collectives() says of it.
  [[nodiscard]] virtual base::Expected<CollectivesOfDevices> collectives() const = 0;

 private:
  Facts facts_;
};

/// Immutable; may be read from several threads.
class TraceSource {
 public:
  /// One source per process in the file, at least one. Errors: the file cannot be read or is of no
  /// known format.
  static base::Expected<std::vector<TraceSource>> open(std::string const& path);
  explicit TraceSource(file::TraceFile file) : of_(std::move(file)) {}
  /// `file` holds the events of a trace that was in memory. `head` says more than the file's own
  /// description. The format has no place for some of the log, nor for text that is not UTF-8.
  TraceSource(file::TraceFile file, model::TraceHead head)
      : of_(std::move(file)), head_(std::make_shared<model::TraceHead const>(std::move(head))) {}
  explicit TraceSource(model::Trace trace)
      : of_(std::make_shared<model::Trace>(std::move(trace))) {}
  explicit TraceSource(std::shared_ptr<RemoteTrace const> remote);

  [[nodiscard]] model::TraceInfo const& info() const;
  [[nodiscard]] std::span<model::Track const> tracks() const;
  [[nodiscard]] std::span<model::Device const> devices() const;
  /// Losses that are known before events are read.
  [[nodiscard]] model::ImportLog log() const;
  /// Events per track. Damaged blocks may hold fewer than the index says.
  [[nodiscard]] std::vector<uint64_t> event_counts() const;
  /// First start and last end, trace time; {0, 0} without events.
  [[nodiscard]] model::Interval time_range() const;
  /// The kinds of events per track, bit k = kind k.
  [[nodiscard]] std::vector<uint64_t> kinds() const;
  /// Annotated steps, by track and start. Errors: those of read().
  [[nodiscard]] base::Expected<std::vector<file::StepSpan>> steps() const;
  /// At least the selected events. Errors: they do not fit into memory.
  [[nodiscard]] base::Expected<std::shared_ptr<model::Trace const>> read(
      file::Selection const& selection) const;
  /// A copy of at least the selected events. Errors: as above.
  [[nodiscard]] base::Expected<model::Trace> copy(file::Selection const& selection = {}) const;
  /// All events of these kinds, as TraceFile::read_kinds() returns them. Nothing, too, where the
  /// trace is in memory or a clock is corrected.
  [[nodiscard]] std::optional<model::Trace> read_kinds(uint64_t kinds) const;
  /// The file that was opened, with times as it recorded them; null where the trace is in memory.
  [[nodiscard]] file::TraceFile const* file() const { return std::get_if<file::TraceFile>(&of_); }
  /// Null where the trace is here.
  [[nodiscard]] RemoteTrace const* remote() const {
    auto const* const there = std::get_if<std::shared_ptr<RemoteTrace const>>(&of_);
    return there == nullptr ? nullptr : there->get();
  }
  /// The correction for times of file().
  [[nodiscard]] model::ClockDrift const& drift() const { return drift_; }
  [[nodiscard]] bool is_in_memory() const {
    return std::holds_alternative<std::shared_ptr<model::Trace>>(of_);
  }
  /// Lets the system take the memory of what was read of a file.
  void release_pages() const;
  /// All events. The caller must have released the results of read(). Errors: as above.
  [[nodiscard]] base::Expected<model::Trace> load() &&;
  /// For a trace that does not state its rank.
  void assume_rank(int32_t rank);
  /// For the only process of a file whose name states a rank while its trace does not. The names of
  /// the run's other files may say more (numbers.h).
  void assume_rank_by_name(int32_t rank) {
    assume_rank(rank);
    is_rank_by_name_ = true;
  }
  [[nodiscard]] bool is_rank_by_name() const { return is_rank_by_name_; }
  /// For a trace whose job other traces of the run describe better.
  void assume_world_size(int32_t world_size);
  /// From now on all times are those of a corrected clock.
  void correct_drift(model::ClockDrift const& drift);

 private:
  [[nodiscard]] model::Trace as_assumed(model::Trace trace) const;
  model::TraceInfo& to_assume();

  /// A trace in memory is shared with its readers, and already corrected.
  std::variant<file::TraceFile, std::shared_ptr<model::Trace>, std::shared_ptr<RemoteTrace const>>
      of_;
  std::shared_ptr<model::TraceHead const>
      head_;  ///< replaces a file's own description; may be null
  std::optional<model::TraceInfo> assumed_info_;  ///< of a file, here or elsewhere
  bool is_rank_by_name_ = false;
  model::ClockDrift drift_;  ///< of a file
};

/// One process of an open run. Run time = trace time + offset_ns.
struct RankSource {
  TraceSource source;
  int64_t offset_ns = 0;
  std::string file;
  double drift = 0;  ///< model::RankTrace::drift
};

/// A Run before its events are read.
struct RunSources {
  std::string name;
  std::vector<RankSource> ranks;  ///< by (rank, process id)
  model::ClockFit clock;
  std::vector<std::string> notes;  ///< for users: files that failed to open or do not fit together
};

/// First start to last end over all ranks, run time; {0, 0} without events.
model::Interval time_range(RunSources const& run);

}  // namespace stepscope::import
