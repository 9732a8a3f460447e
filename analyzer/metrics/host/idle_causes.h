// Why a device was idle: every gap between its device ops (all streams), split at the instants
// where the cause changes (DEFINITIONS, "Idle causes"; the first that applies).
//
// The next op of a gap is the op that starts at its end, the one launched first if there are
// several. The launching thread is the thread of its launch call [launch.begin, launch.end).
//
//   profiler        profiler overhead on any thread of the process
//   allocation      the launching thread is in a memory call
//   sync, input     the launching thread is in a blocking sync call, or waits for data, before
//                   launch.end: once the op is launched neither can be what holds it. A launching
//                   thread without steps of its own also counts as waiting while a thread that has
//                   steps waits; and so does the unknown thread of a launch that is not in the
//                   trace.
//   dependency      after launch.end, its stream is held by an event of this device
//   peer            after launch.end, its stream is held by an event of another device; or it is a
//                   collective that did not start before its last peer was launched, until that
//                   launch
//   graph           after launch.end, in a graph launch that had run nodes before
//   sync            after launch.end, a thread is in a call that waits for its copy, and the copy
//                   was not recorded
//   sync            the launching thread is in the launch call of a copy whose pageable memory it
//                   copies first (IdleGap::is_staging)
//   launch_starved  before launch.end. The part that a sync in the same gap costs is a piece of its
//                   own (sync_lead.h)
//   launch_latency  what is left, each piece shorter than the limit; of a host device: its thread
//                   has been woken and does not run yet
//   unexplained     what is left and longer, or the launch is not in the trace
#pragma once

#include "analyzer/metrics/host/host_activity.h"
#include "analyzer/metrics/time/readiness.h"

namespace stepscope::analyzer {

/// For each collective op of a device: when the last of its peers had been launched (run time).
struct PeerLaunch {
  uint32_t row;
  int64_t last_launch_end;
};

/// The gaps of `range` by time; their lengths sum to |range ∖ busy|. `peers` is sorted by row. O(n
/// log n) over everything.
std::vector<IdleGap> explain_gaps(DeviceOps const& device, model::IntervalSet const& busy,
                                  Interval range, HostActivity& host,
                                  std::vector<PeerLaunch> const& peers,
                                  int64_t launch_latency_limit_ns);

/// Below this the time from an op's launch to its start is the device's own. The limit is half more
/// than the median of launches onto the idle device, from `least_ns` to 5 times that. The median is
/// of some thousand launches, at least 8: copies and kernels, but no collectives. `busy` = when the
/// device works. A host device has `least_ns`. O(log ops).
int64_t launch_latency_limit(DeviceOps const& device, model::IntervalSet const& busy,
                             int64_t least_ns);

/// What the gaps (by time) of cause kUnexplained are. O(gaps + device ops).
UnexplainedStats unexplained_facts(DeviceOps const& device, std::vector<IdleGap> const& gaps);

/// What kept the host from launching in these times, as of gaps.
std::vector<IdleGap> explain_late_launches(DeviceOps const& device,
                                           std::vector<LateLaunch> const& late, HostActivity& host,
                                           int64_t launch_latency_limit_ns);

}  // namespace stepscope::analyzer
