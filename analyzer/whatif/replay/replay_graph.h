// The graph of a replay: over all processes what waits for what, built once from the dependency
// graphs of the critical path (metrics/critical_path/dependency_graph.h). A node is over when all
// that it waits for is over, each with its lag, and its own duration has passed. Nodes stand in an
// order in which each comes behind all that it waits for: an evaluation is one linear pass.
// O(n) in ops, launches, syncs and changes of what hosts do, but for the sorting of its inputs.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/metrics/critical_path/dependency_graph.h"
#include "analyzer/results/critical_path_stats.h"
#include "trace/base/column.h"

namespace stepscope::analyzer {

/// What an edge is there for.
enum class ReplayEdge : uint8_t {
  kOrder,       ///< of a thread or a stream
  kLaunch,      ///< from a call to its op
  kWait,        ///< of a stream for another, recorded or guessed
  kSync,        ///< of a host for a device
  kQueue,       ///< of a launch call for room in its device's queue
  kHandover,    ///< of a thread for another
  kCollective,  ///< from its participants, and to their ends
  kRoot         ///< from the begin of time
};

/// The lag of an edge that does not hold.
inline constexpr int64_t kNoEdge = std::numeric_limits<int64_t>::min() / 4;

/// What a change may change. Instants and durations are ns.
struct ReplayWeights {
  base::Column<int64_t> own;      ///< by node: its duration
  base::Column<int64_t> lag;      ///< by edge: from the end of its source on
  base::Column<uint32_t> source;  ///< by edge: its source; empty: as in the graph
};

enum class ReplayNodeKind : uint8_t {
  kRoot,      ///< the begin of time
  kHost,      ///< a stretch of a thread
  kOp,        ///< a device op
  kArrival,   ///< a participant that begins a collective: takes no time
  kTransfer,  ///< of a collective, from its last arrival on
  kDeparture  ///< the end of a participant
};

struct ReplayNode {
  ReplayNodeKind kind = ReplayNodeKind::kRoot;
  PathClass path_class = PathClass::kUnexplained;
  bool starts_step = false;   ///< host: a step of its thread begins with it
  bool is_copy_call = false;  ///< host: a call that waits for its copy
  uint16_t device = 0;        ///< op, arrival and departure: place among all devices
  uint32_t process = 0;       ///< place among the processes; none of a transfer
  uint32_t row = kNoNode;     ///< in the process's trace; of a transfer the collective's number
  uint32_t track = 0;
  int32_t step = -1;  ///< op and departure: place among ReplayGraph::steps
};

/// A step of a device.
struct ReplayStep {
  DeviceRef ref;
  int64_t step = 0;
  bool is_measured = false;
  int32_t before = -1;  ///< the step before it on its device
  Interval when;        ///< as recorded: the period that is measured
  int64_t lead_ns = 0;  ///< from the end of the step before to `when`
};

/// One process of a replay.
struct ReplayProcess {
  std::span<DeviceOps const> devices;
  std::vector<std::vector<HostStep>> const* host_steps = nullptr;  ///< by track
};

struct ReplayGraph {
  std::vector<ReplayProcess> processes;
  base::Column<ReplayNode> nodes;
  base::Column<int32_t>
      step_of_node;  ///< ReplayNode::step: an evaluation reads nothing else of nodes
  base::Column<uint32_t> first_edge;   ///< by node, and one more
  base::Column<uint32_t> source;       ///< by edge
  base::Column<ReplayEdge> edge_kind;  ///< by edge
  /// Beside `source`: the typical delay in place of an op's own.
  base::Column<int64_t> typical_lag;
  ReplayWeights recorded;
  std::vector<ReplayStep> steps;
  /// False: records contradict each other, so that something would wait for itself. Then there is
  /// no node but the root.
  bool is_whole = true;
};

struct ReplayInput {
  std::vector<DeviceOps> const& devices;            ///< of what was read, by ref
  HostSteps const& host_steps;                      ///< of the run
  std::vector<CollectiveStats> const& collectives;  ///< of what was read
  std::vector<DeviceStats> const& chosen;           ///< those that are to be replayed, by ref
  std::vector<std::vector<Interval>> const&
      periods;  ///< beside `chosen`: what is measured, by time
  int64_t launch_latency_limit_ns = 10'000;
};

ReplayGraph make_replay_graph(ReplayInput const& input);

/// A copy, made on all cores: on one it takes most of the time of an evaluation.
ReplayWeights copy_weights(ReplayWeights const& weights);

}  // namespace stepscope::analyzer
