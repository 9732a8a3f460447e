// The steps of each device: which step a device op belongs to, and the device window of every step
// (DEFINITIONS, "Steps").
//
// An op belongs to the step in whose host range its launch call begins. The range is one of the
// launching thread if that has steps. Else it is one of the thread with steps that launches most
// for the device, or of the process's first thread with steps. Ops without a launch, or launched
// outside every range, are outside. Where no launch of the run is known, an op belongs to the range
// in which it begins itself. Steps of several launching threads are one step of the device where
// they have the same index and overlap (shared_steps.h). Steps may also be the device's own:
// detected, or on a track of the device, as XLA's profiler writes them. Then an op belongs to the
// step in which it begins itself.
//
// The device window of a step is [begin, end). Its end is the last end of its ops. Its begin is the
// begin of the host's step, or the end of the step before if that is later. So steps never overlap.
// A host that runs ahead has its steps cut at the instant at which the last op of the earlier step
// ends: the lengths are the device's own period. Where the host waits, its time before the step's
// first launch (waiting for input) is in the step that it delays.
// docs/design/decisions/0004-step-window.md.
#pragma once

#include "analyzer/metrics/core/device_ops.h"
#include "trace/model/derive/slice.h"

namespace stepscope::analyzer {

/// One step of one host thread, run time.
struct HostStep {
  Interval when;
  int64_t index = 0;   ///< which step of the job it is: once in each thread, the same on all ranks
                       ///< (step_numbers.h)
  int64_t number = 0;  ///< as the program gave it; 0 where it gave none
  bool is_after_gap = false;  ///< steps between it and the one before were not recorded
};

/// Steps in a device's own time.
struct DeviceOwnSteps {
  DeviceRef ref;
  std::vector<HostStep> steps;  ///< sorted, disjoint
};

/// The steps of all threads: threads[rank_index][track] is sorted and disjoint; empty for tracks
/// without steps.
struct HostSteps {
  StepSource source = StepSource::kNone;
  std::vector<std::vector<std::vector<HostStep>>> threads;
  std::vector<DeviceOwnSteps> detected;  ///< by ref: where no thread has steps (step_detection.h)
  std::optional<double> confidence;      ///< of detected steps, 0 to 1
  std::optional<RepeatedLayers> layers;  ///< where detection found layers and no steps
};

/// Annotated steps if any thread of the run has them; else ranges whose names have a step pattern.
/// Without those, ranges whose names may mean steps and that fill their thread's time. Steps inside
/// steps are dropped.
HostSteps find_host_steps(model::Run const& run);

/// For slicing one process: the time of the steps A..B on each thread that has any of them, in
/// trace time, and what a part cannot show about the whole.
std::vector<model::ThreadSteps> steps_between(std::vector<std::vector<HostStep>> const& threads,
                                              std::pair<int64_t, int64_t> wanted,
                                              int64_t offset_ns);
/// For slicing by time (of the run): the first and the last step that lie in it whole, on every
/// thread. Steps that `source`, a part itself, has cut are not whole. None: no step is.
std::optional<std::pair<int64_t, int64_t>> whole_steps_in(
    std::vector<std::vector<HostStep>> const& threads, Interval time,
    model::WholeSteps const& source);
/// `part_begin`: of run time; of the steps that do not end before it the first is the part's first.
/// Where steps were renumbered the part counts its steps through from the number of its first step.
/// Its choice follows: `chosen` are steps of the run, none where the last is before the first.
model::WholeSteps whole_steps(std::vector<std::vector<HostStep>> const& threads, int64_t part_begin,
                              std::pair<int64_t, int64_t> chosen);

/// A host step by its place among those of its thread.
struct StepPlace {
  std::vector<HostStep> const* steps;
  model::TrackId thread;  ///< not valid: in the device's own time
  int32_t place;
};

struct DeviceSteps {
  std::vector<StepStats> steps;     ///< by time; `time` is not filled yet
  std::vector<StepPlace> places;    ///< beside steps: of the HostSteps that they came from
  std::vector<int32_t> step_of_op;  ///< beside DeviceOps::ops: index into steps, −1 = outside
  bool are_by_time =
      false;  ///< no launch is known: ops belong to the steps of the host in which they begin
};

/// `warmup_steps`: the first of these many steps are marked, when more than kFewestStepsForWarmup
/// are there; in a part of a run, those that are in the whole.
DeviceSteps assign_steps(DeviceOps const& device, HostSteps const& host, int32_t warmup_steps);

/// With 4 steps or fewer every step counts: leaving one out would leave too little to say anything
/// about.
inline constexpr size_t kFewestStepsForWarmup = 4;

}  // namespace stepscope::analyzer
