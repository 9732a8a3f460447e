// A process of a run that is open but not read: what its file's index and description say is there
// at once, events are read when they are asked for, only those that are wanted. Formats without an
// index are read whole when they are opened.
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
#include "trace/model/derive/run_skeleton.h"
#include "trace/model/intervals.h"
#include "trace/model/run.h"

namespace stepscope::import {

/// Immutable; may be read from several threads.
class TraceSource {
 public:
  /// One a process that the file holds, at least one. Errors: the file cannot be read or is of no
  /// known format.
  static base::Expected<std::vector<TraceSource>> open(std::string const& path);
  /// Of a file's bytes, which outlive it.
  explicit TraceSource(file::TraceFile file) : of_(std::move(file)) {}
  /// Of a file that holds the events of a trace that was in memory. Its own description says less
  /// than `head`: the format has no place for some of the log, nor for text that is not UTF-8.
  TraceSource(file::TraceFile file, model::TraceHead head)
      : of_(std::move(file)), head_(std::make_shared<model::TraceHead const>(std::move(head))) {}
  explicit TraceSource(model::Trace trace)
      : of_(std::make_shared<model::Trace>(std::move(trace))) {}

  [[nodiscard]] model::TraceInfo const& info() const;
  [[nodiscard]] std::span<model::Track const> tracks() const;
  [[nodiscard]] std::span<model::Device const> devices() const;
  /// What is known to be lost without reading events.
  [[nodiscard]] model::ImportLog log() const;
  /// By track; damaged blocks may hold fewer than the index says.
  [[nodiscard]] std::vector<uint64_t> event_counts() const;
  /// First start and last end, trace time; {0, 0} without events.
  [[nodiscard]] model::Interval time_range() const;
  /// By track: the kinds of its events, bit k = kind k.
  [[nodiscard]] std::vector<uint64_t> kinds() const;
  /// Annotated steps, by track and start. Errors: those of read().
  [[nodiscard]] base::Expected<std::vector<file::StepSpan>> steps() const;
  /// At least the selected events. Errors: they do not fit into memory.
  [[nodiscard]] base::Expected<std::shared_ptr<model::Trace const>> read(
      file::Selection const& selection) const;
  /// The selected events for the caller alone, of a source that is not in memory. Errors: as above.
  [[nodiscard]] base::Expected<model::Trace> copy(file::Selection const& selection = {}) const;
  /// All events of these kinds, as TraceFile::read_kinds() says. Nothing, too, where the trace is
  /// in memory or a clock is corrected.
  [[nodiscard]] std::optional<model::Trace> read_kinds(uint64_t kinds) const;
  /// The file that was opened, with times as it recorded them; null where the trace is in memory.
  [[nodiscard]] file::TraceFile const* file() const { return std::get_if<file::TraceFile>(&of_); }
  /// What corrects times of file().
  [[nodiscard]] model::ClockDrift const& drift() const { return drift_; }
  [[nodiscard]] bool is_in_memory() const {
    return std::holds_alternative<std::shared_ptr<model::Trace>>(of_);
  }
  /// Everything; nobody may hold what read() gave. Errors: as above.
  [[nodiscard]] base::Expected<model::Trace> load() &&;
  /// Of a trace that does not say its rank.
  void assume_rank(int32_t rank);
  /// Of the only process of a file, whose trace says none, while its name does. The names of the
  /// run's other files may tell more (name_numbers.h).
  void assume_rank_by_name(int32_t rank) {
    assume_rank(rank);
    is_rank_by_name_ = true;
  }
  [[nodiscard]] bool is_rank_by_name() const { return is_rank_by_name_; }
  /// What other traces of the run say of the job.
  void assume_world_size(int32_t world_size);
  /// From now on all times are those of a corrected clock.
  void correct_drift(model::ClockDrift const& drift);

 private:
  std::variant<file::TraceFile, std::shared_ptr<model::Trace>>
      of_;  ///< in memory: shared with who reads it, and corrected
  std::shared_ptr<model::TraceHead const>
      head_;  ///< of a file: known better than by its description; may be null
  [[nodiscard]] model::Trace as_assumed(model::Trace trace) const;
  model::TraceInfo& to_assume();
  std::optional<model::TraceInfo> assumed_info_;  ///< of a file
  bool is_rank_by_name_ = false;
  model::ClockDrift drift_;  ///< of a file
};

/// One process of an open run. Run time = trace time + offset_ns.
struct RankSource {
  TraceSource source;
  int64_t offset_ns = 0;
  std::string file;  ///< where it comes from
  double drift = 0;  ///< model::RankTrace::drift
};

/// A Run before its events are read.
struct RunSources {
  std::string name;
  std::vector<RankSource> ranks;  ///< by (rank, process id)
  model::ClockFit clock;
  std::vector<std::string>
      notes;  ///< what could not be opened or does not fit together, for people
};

/// First start to last end over all ranks, run time; {0, 0} without events.
model::Interval time_range(RunSources const& run);

}  // namespace stepscope::import
