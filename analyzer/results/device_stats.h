// One device of the run: its time, its memory, its telemetry and how its work was launched.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/results/launch_stats.h"
#include "analyzer/results/memory_stats.h"
#include "analyzer/results/telemetry_stats.h"
#include "analyzer/results/time_split.h"
#include "trace/model/ids.h"

namespace stepscope::analyzer {

struct DeviceStats {
  DeviceRef ref;
  std::string name;
  Interval window;   ///< first start to last end of its device ops
  Interval all_ops;  ///< the same over the whole recording, whatever the options chose
  bool are_steps_by_time =
      false;       ///< no launch is known: an op belongs to the host step in which it begins
  TimeSplit time;  ///< over that window
  UnexplainedStats unexplained;  ///< of all its idle time, that before the window included
  uint64_t kernels = 0;          ///< device ops but memcpys: compute, memsets and collectives
  uint64_t copies = 0;           ///< memcpys; kernels + copies = device ops
  uint64_t collectives = 0;      ///< of `kernels`
  uint64_t launches = 0;         ///< launch calls of these ops that the trace has
  LaunchStats launch;            ///< how these ops were launched
  SlowTime slow;                 ///< over `window`
  MemoryStats memory;
  std::optional<TelemetryStats> telemetry;  ///< none without counters
  /// The longest memcpys of the steps after the warm-up; without steps, of the recording.
  struct Copy {
    Interval when;
    uint32_t track;  ///< of the process
  };
  std::vector<Copy> longest_copies;
  uint64_t python_frames = 0;  ///< calls of Python functions recorded in `window`
  /// Where softmax kernels stand, for attention without a fused kernel
  /// (metrics/work/attention_shape.h).
  bool is_softmax_between_products = true;
  /// What the host did in long gaps beside what explains them (metrics/host/long_gaps.h).
  struct HostWork {
    Interval when;
    model::StringId name;  ///< of the process's trace
  };
  std::vector<HostWork> other_work_in_long_gaps;
};

}  // namespace stepscope::analyzer
