// Device time by what the host was doing when it launched the work (DEFINITIONS, "Kernels"): the
// innermost range around the launch call, on its thread, and the outermost one. Steps and the
// ranges that stand for them are no ranges here, nor are frames of Python's stack. A phase ("##
// forward ##" too) stands in where a launch is in no range. Where a framework names its modules
// ("nn.Module: Linear_3"), the layer is the innermost module. O(n log n): every thread of a process
// is walked once.
#pragma once

#include "analyzer/metrics/work/launches.h"

namespace stepscope::analyzer {

/// Where on its thread a launch was called.
struct LaunchPlace {
  uint32_t launch = 0;        ///< row
  model::StringId op, layer;  ///< names of ranges; invalid = called in none
  uint32_t stream_waits =
      0;  ///< calls on this thread, until then, that let a stream wait for an event
};

/// All launch calls of a process with an op in the trace, by row.
std::vector<LaunchPlace> launch_places(model::RankTrace const& rank);

/// Tables of the ops `rows` of a device, with their `launched` and `places`. Each level lists
/// ranges by total, descending, at most kMostRanges. The rows of further ranges, of what is in no
/// range and of what was not launched follow, where there is any. Empty where no op was launched in
/// a range.
std::vector<OpStats> op_tables(DeviceOps const& device, std::vector<uint32_t> const& rows,
                               std::vector<LaunchedOp> const& launched,
                               std::vector<LaunchPlace> const& places);
/// Models have some hundreds of layers; names with numbers in them can be a million.
inline constexpr size_t kMostRanges = 1000;

}  // namespace stepscope::analyzer
