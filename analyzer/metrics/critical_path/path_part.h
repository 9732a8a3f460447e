// The part of a run that the critical path and a replay look at, and what is read for it. It is all
// that was asked for. Where that is more than memory holds it is the middle steps.
#pragma once

#include <memory>
#include <stop_token>
#include <vector>

#include "analyzer/metrics/core/device_ops.h"
#include "analyzer/metrics/core/streamed_run.h"
#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// The part of the run that the path is to explain.
struct PathPart {
  bool is_all = false;               ///< of what was asked for
  std::vector<DeviceStats> devices;  ///< with their windows in it; by ref
  std::vector<StepStats> steps;      ///< by (ref, step)
};

/// All that the path asks of a device's facts: its window and the delay that is its own.
DeviceStats facts_for_path(DeviceStats const& device, Interval window);
/// Whether the options chose a device of each process. The path looks into no other process.
std::vector<bool> chosen_for_path(model::Run const& skeleton, Analysis const& facts);
/// How many events the chosen processes have.
uint64_t chosen_events(model::Run const& skeleton, std::vector<bool> const& is_chosen);
/// The part of all that the path is to explain, at most 1.
double part_of_path(model::Run const& skeleton, std::vector<bool> const& is_chosen);
/// Whether the path is that of all that was asked for, or of its middle steps.
bool is_path_of_all(model::Run const& skeleton, Analysis const& facts);
/// `part`: of all, as part_of_path() says.
PathPart choose_part(Analysis const& facts, double part);

/// From the first begin to the last end of all that belongs to the part, on hosts too, and a step
/// before. The step before shows what threads did, and what ops waited for, as the part begins.
Interval range_of(PathPart const& part);
/// What was read of the chosen processes.
struct ReadRange {
  Interval range;
  std::shared_ptr<model::Run const> run;  ///< null: nothing was read
};
/// The chosen processes in a range of run time. Told to stop, a run without read_windows reads no
/// more: processes that were not read have no events. Errors: those of reading.
base::Expected<model::Run> read_range(StreamedRun const& run, std::vector<bool> const& is_chosen,
                                      Interval range, std::stop_token const& stop);
/// The same, cut out of what was read of the same processes before, where that has all of the
/// range.
base::Expected<model::Run> read_range(StreamedRun const& run, std::vector<bool> const& is_chosen,
                                      Interval range, ReadRange const& before);
/// The collectives with a participant that was read in the range, with the rows of what was read.
/// Rows of processes that were not read say nothing.
std::vector<CollectiveStats> collectives_in_range(std::vector<CollectiveStats> const& all,
                                                  std::vector<DeviceOps> const& devices,
                                                  std::vector<bool> const& is_read, Interval range);

/// The collectives with the rows of what was read as a whole. Rows of processes that were not read
/// say nothing. `skeletons`, `devices`: of the skeletons and of what was read.
std::vector<CollectiveStats> collectives_of_whole(std::vector<CollectiveStats> collectives,
                                                  std::vector<DeviceOps> const& skeletons,
                                                  std::vector<DeviceOps> const& devices);

}  // namespace stepscope::analyzer
