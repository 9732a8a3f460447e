// What host threads were doing: the times a thread spent in calls that explain an idle device, and
// the innermost range or call that ran in a given window. All instants are run time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analyzer/metrics/core/device_ops.h"
#include "analyzer/metrics/host/callers.h"
#include "analyzer/metrics/steps/steps.h"

namespace stepscope::analyzer {

/// Times of one thread, each a union.
struct ThreadSets {
  /// In calls that allocate or free device memory, and in launches that such a call of another
  /// thread held up.
  model::IntervalSet allocation;
  model::IntervalSet sync;  ///< in calls that block until device work is over, copies among them
  model::IntervalSet
      input;  ///< waiting for training data: annotated, or a range named like a loader's wait
  model::IntervalSet any;  ///< the union of these
};

/// True for range names by which frameworks show that a thread waits for data: DataLoader.__next__,
/// IteratorGetNext.
bool is_input_wait_name(std::string_view name);

/// The threads of one process; sets are made when first asked for.
class HostActivity {
 public:
  HostActivity(model::RankTrace const& rank, std::vector<std::vector<HostStep>> const& steps);
  ThreadSets const& thread(model::TrackId track);
  /// Profiler overhead on any thread.
  [[nodiscard]] model::IntervalSet const& overhead() const { return overhead_; }
  /// Union of the input waits of all threads that have steps: what delays a launching thread that
  /// has none of its own.
  model::IntervalSet const& input_of_step_threads();
  /// Calls, on any thread, that return when their copy is done and whose copy was not recorded.
  [[nodiscard]] model::IntervalSet const& unrecorded_copies() const { return unrecorded_copies_; }
  [[nodiscard]] bool has_steps(model::TrackId track) const { return !steps_[track.value].empty(); }
  Callers& callers() { return callers_; }
  /// The steps of the thread; a thread without any gets those of the first thread that has some.
  [[nodiscard]] std::vector<HostStep> const& steps_for(model::TrackId track) const;

 private:
  void find_blocking_copies();
  void find_unrecorded_copies();
  void find_held_launches();

  model::RankTrace const& rank_;
  std::vector<std::vector<HostStep>> const& steps_;
  Callers callers_;
  std::vector<std::unique_ptr<ThreadSets>> threads_;
  std::optional<std::vector<bool>>
      waits_;  ///< by string: a name of input waits; empty where none is
  std::unique_ptr<model::IntervalSet> step_thread_input_;
  model::IntervalSet overhead_, unrecorded_copies_;
  std::vector<std::vector<Interval>>
      blocking_copies_;                               ///< calls by track; empty where there is none
  std::vector<std::vector<Interval>> held_launches_;  ///< times by track; empty where there is none
};

/// Walks one thread forward in time and says which host event ran innermost for most of a window.
/// Windows must be asked for in order of time; O(events of the thread) over all of them.
class HostCursor {
 public:
  HostCursor(model::RankTrace const& rank, model::TrackId track);
  /// The row that was innermost for the longest part of the window (a range, call, wait or phase;
  /// not the step itself); invalid = none was. Where that part is less than half of it, as among
  /// the many short frames of a Python function, the innermost row that was open for more than
  /// half.
  model::EventId dominant(Interval window);

 private:
  struct Frame {
    uint32_t row;
    int64_t end;
    int64_t in_window;  ///< ns of the current window in which this was innermost
  };
  /// Innermost frames get the time from now_ to `until`; those that end on the way are closed.
  void advance(int64_t until);
  void close_back();
  /// Takes frames from the inside out.
  void look_at(Frame const& frame);
  void open(uint32_t row);
  /// Moves to an instant; how long a frame was innermost before it no longer counts.
  void skip_until(int64_t instant);

  RowView rows_;
  uint32_t next_, last_;
  std::vector<Frame> open_;
  int64_t now_;
  model::EventId best_;
  int64_t best_ns_ = 0;
  Interval window_{};        // the current one
  model::EventId covering_;  // the innermost that is open for more than half of it
};

}  // namespace stepscope::analyzer
