// How the work of one device was launched: calls, latencies, queues, CUDA graphs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/results/device_ref.h"

namespace stepscope::analyzer {

/// Launch calls that wait in a stream or on a device, each from the call's begin to the start of
/// its op.
struct QueueStats {
  double mean_depth = 0;   ///< over the window's time
  uint64_t max_depth = 0;  ///< at any time
  double empty_share = 0;  ///< of the window: nothing waits
};
struct StreamQueue {
  int64_t stream = 0;     ///< Track::id
  uint64_t launches = 0;  ///< whose first op is on this stream
  QueueStats queue;
};

/// How the ops of a device were launched. A launch call counts once, with the first op that it
/// launched.
struct LaunchStats {
  uint64_t calls = 0;
  std::optional<double> calls_per_step;  ///< of measured steps; none without
  /// Start of the op − end of the call, over all calls, as it is: negative where the op starts
  /// before the call returns.
  std::optional<int64_t> latency_median_ns, latency_p95_ns, latency_max_ns;
  int64_t latency_limit_ns = 0;           ///< shorter times to an op's start are the device's own
  uint64_t negative_latencies = 0;        ///< ops that start before their call has returned
  std::optional<int64_t> call_median_ns;  ///< how long the host is in a call
  /// Kernels alone (no copies, memsets, collectives), with or without a launch in the trace.
  std::optional<int64_t> kernel_median_ns;
  std::optional<QueueStats> queue;   ///< of all streams together; none without a launch
  std::vector<StreamQueue> streams;  ///< by stream, those with launches
  uint64_t graph_ops = 0,
           graph_launches = 0;  ///< device ops launched by CUDA graphs, and the calls that did
  std::optional<double> graph_share;  ///< of the device's summed op time; none without graphs
};

/// What a CUDA graph launched on a device.
struct GraphStats {
  DeviceRef ref;
  uint32_t graph = 0;     ///< its number in the trace; 0 = further graphs together
  uint64_t launches = 0;  ///< calls that the trace has
  uint64_t ops = 0;       ///< device ops
  std::optional<uint64_t>
      nodes;             ///< distinct nodes among them; none where the trace has no node ids
  int64_t total_ns = 0;  ///< summed durations
  int64_t gap_ns = 0;    ///< idle time between the ops of single launches
};

}  // namespace stepscope::analyzer
