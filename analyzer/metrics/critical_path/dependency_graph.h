// What the work of one process waited for, from its trace alone (DEFINITIONS, "Critical path").
// Every device op has the op before it on its stream, the ops that events name and its launch, and
// which of these was over last. Every sync has the device op whose end let the host go on. The
// graph holds only numbers and times of the trace's rows, so that walks over the ranks need no
// trace. O(n log n) in the process's device ops and syncs, one pass over the kinds of its other
// events.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/metrics/core/device_ops.h"
#include "analyzer/metrics/steps/steps.h"

namespace stepscope::analyzer {

/// "None" wherever the number of an op, a launch or a thread stands.
inline constexpr uint32_t kNoNode = std::numeric_limits<uint32_t>::max();
/// When the last of nothing was over.
inline constexpr int64_t kNothingBefore = std::numeric_limits<int64_t>::min();

/// Instants are run time. Numbers of ops are places in DependencyGraph::ops.
struct GraphOp {
  int64_t start = 0, end = 0;
  int64_t ready = kNothingBefore;  ///< when the last of what it waited for was over; ≤ start
  uint32_t row = 0, stream = 0;    ///< in the trace: its row, its track
  uint32_t before = kNoNode;       ///< the op before it on its stream
  uint32_t waited_for =
      kNoNode;  ///< the op that was over at `ready`; none: its launch was, or nothing is known
  uint32_t launch = kNoNode;  ///< number of its launch call, if that began no later than the op
  bool is_guess = false;      ///< no record tells of `waited_for`
  bool is_on_path = false;    ///< filled by who walks the path
};

struct PathLaunch {
  int64_t start = 0, end = 0;  ///< of the call; where it waits for its copy, both are its begin
  uint32_t thread = 0;
  bool waits_for_copy = false;  ///< the call lasts until its copy ends
};
/// When the launch of an op was over for it: at the end of the call, at its own start if that was
/// earlier.
inline int64_t launched_at(GraphOp const& op, PathLaunch const& launch) {
  return std::min(launch.end, op.start);
}

/// Ops that `op` waits for beyond the one before it on its stream.
struct PathWait {
  uint32_t source = 0, op = 0;
  friend auto operator<=>(PathWait const&, PathWait const&) = default;
};

/// Which ops a sync waits for: all of the process, of a device (its place among the process's
/// devices), of a stream (its track), or one.
enum class SyncScope : uint8_t { kProcess, kDevice, kStream, kOp };
struct PathSync {
  int64_t begin = 0, end = 0;
  int64_t ready =
      0;  ///< when both the host had come to it and the device was over with what it waits for
  uint32_t thread = 0;
  SyncScope scope = SyncScope::kProcess;
  uint32_t scope_number = 0;
};

/// Where the path leaves a host thread.
struct HostExit {
  int64_t from = 0;       ///< from all positions at or after this instant that no later exit takes
  int64_t to = 0;         ///< to this instant: the end of `op`, or a position on `thread`
  uint32_t op = kNoNode;  ///< the device op that let the host go on
  uint32_t thread = kNoNode;  ///< without an op: the thread that handed its work over
};

/// A collective op that other devices take part in.
struct CollectiveJoin {
  uint32_t row = 0, op = kNoNode;
  uint32_t collective = 0;  ///< which
  int64_t wait_ns = 0;      ///< from its start to the begin of the transfer
  // Known when the graphs of all processes are there.
  int64_t lead_ns =
      0;  ///< how much earlier than the last participant it was ready; 0 = it is the last
  bool is_jump = false;  ///< the path goes on where the last participant is
};

struct DependencyGraph {
  int32_t rank_index = 0;
  size_t devices = 0;                ///< how many the process has
  std::vector<GraphOp> ops;          ///< by start; of equal starts by (device, stream id, row)
  std::vector<PathLaunch> launches;  ///< those of ops, by row
  std::vector<PathWait> waits;       ///< by op
  std::vector<PathSync> syncs;       ///< by (thread, row)
  std::vector<std::vector<HostExit>> exits;  ///< by track, each by `from`
  std::vector<CollectiveJoin> joins;         ///< by op; those whose op is known
  std::vector<uint32_t>
      device_of_stream;  ///< by track: the place of its device among the process's devices
  std::vector<int64_t> latency_limits;  ///< of the process's devices (launch_latency_limit())

  [[nodiscard]] int64_t latency_limit_of(GraphOp const& op) const {
    return latency_limits[device_of_stream[op.stream]];
  }
  /// The last exit that takes the position; null: the path stays on the thread.
  [[nodiscard]] HostExit const* exit_of(uint32_t thread, int64_t position) const;
  [[nodiscard]] CollectiveJoin const* join_of(uint32_t op) const;
};

/// `devices`: all of one process. `steps`: of its tracks. `joins`: of its rows. `latency_limits`:
/// of its devices. A sync without further knowledge waited for an op if it took `least_wait_ns` or
/// more.
DependencyGraph make_dependency_graph(std::span<DeviceOps const> devices,
                                      std::vector<std::vector<HostStep>> const& steps,
                                      std::vector<CollectiveJoin> joins,
                                      std::vector<int64_t> latency_limits, int64_t least_wait_ns);

}  // namespace stepscope::analyzer
