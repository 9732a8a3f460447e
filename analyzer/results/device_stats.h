// What is known of one device: its time, why it was idle, its memory, its health, how its work was launched. Facts of several
// devices, of steps and of the whole run: analyzer/results/analysis.h, which also says what holds of all of them.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/results/memory_timeline.h"
#include "trace/model/intervals.h"

namespace stepscope::analyzer {

using model::Interval;

/// A device of the run: rank = index into Run::ranks, device = id within the process.
struct DeviceRef {
  int32_t rank_index = 0;
  int32_t device = 0;
  friend auto operator<=>(DeviceRef const&, DeviceRef const&) = default;
};

/// Why a device was idle, in the order in which causes are tried (DEFINITIONS, "Idle causes").
enum class IdleCause : uint8_t {
  kProfiler,
  kAllocation,
  kSync,
  kInput,
  kDependency,
  kPeer,
  kGraph,
  kLaunchStarved,
  kLaunchLatency,
  kUnexplained
};
inline constexpr int kIdleCauseCount = 10;
/// The JSON key: "profiler", "launch_starved", …
char const* to_string(IdleCause cause);
using IdleSplit = std::array<int64_t, kIdleCauseCount>;

/// A window's time, split without rest: compute + exposed_comm + exposed_copy + Σ idle = window, to the ns.
struct TimeSplit {
  int64_t window_ns = 0, busy_ns = 0, idle_ns = 0;
  int64_t compute_ns = 0, comm_ns = 0, copy_ns = 0;
  int64_t exposed_comm_ns = 0, exposed_copy_ns = 0;
  int64_t exposed_wait_ns = 0;              ///< of exposed_comm_ns: waiting for peers, not moving data
  int64_t exposed_late_ns = 0;              ///< of exposed_comm_ns: would be hidden or not there if no peer had come late
  std::optional<int64_t> blocking_comm_ns;  ///< of exposed_comm_ns: no other op was ready; none where that is not known
  IdleSplit idle_by_cause{};                ///< sums to idle_ns
  /// Of exposed_comm_ns and exposed_copy_ns: compute would have hidden it, had the host launched it; by what kept the host. 0
  /// where it is not known what streams waited for.
  IdleSplit unhidden_by_cause{};
  int64_t unhidden_comm_ns = 0;                         ///< of that, in exposed_comm_ns
  [[nodiscard]] std::optional<double> overlap() const;  ///< none without communication
  [[nodiscard]] std::optional<double> utilization() const;
};

/// When memory will be full, from the last step on, if it goes on as in the measured steps.
struct MemoryForecast {
  double bytes_per_step = 0, standard_error_bytes = 0;
  double steps = 0, earliest_steps = 0, latest_steps = 0;  ///< the latter at the bounds of the slope's 95 % interval
  std::optional<int64_t> time_ns;                          ///< `steps` at the steps' mean distance
};

/// Who holds a device's memory at an instant.
struct MemoryOwners {
  struct Owner {
    std::string name;  ///< of the allocation, else of the range around it; hostile text
    uint64_t bytes;
  };
  std::vector<Owner> owners;  ///< the largest first
  uint64_t other_bytes = 0, before_recording_bytes = 0;
};

struct MemoryStats {
  std::optional<uint64_t> capacity_bytes, peak_allocated_bytes, peak_reserved_bytes;
  /// 1 − largest gap / all that is reserved and not allocated, at the first instant of peak_reserved_bytes; none where gaps are
  /// not known (metrics/memory/memory_gaps.h) or nothing is free.
  std::optional<double> fragmentation;
  std::optional<double> worst_fragmentation;  ///< in measured steps, when most bytes are free outside of the largest gap
  std::optional<uint64_t> stranded_bytes;     ///< these bytes
  using Point = MemoryPoint;
  MemoryTimeline timeline;                               ///< after every allocation and free, by time
  std::array<uint64_t, 7> by_purpose_at_peak{};          ///< at the first instant of peak_allocated_bytes
  std::optional<double> floor_growth_bytes_per_step;     ///< slope of the per-step minimum; none with fewer than 5 steps
  std::optional<double> reserved_growth_bytes_per_step;  ///< slope of what is reserved at the end of each step
  std::optional<MemoryForecast> floor_forecast, reserved_forecast;  ///< by the growth of the floors, of the reserve
  std::optional<MemoryOwners> peak_owners;                          ///< at the first instant of peak_allocated_bytes; sum to it
  struct Growth {
    int64_t time_ns;
    uint64_t bytes;
  };
  /// In measured steps: what the reserve grew by for allocations that took no more than was free in total. None where no
  /// reserve is reported.
  std::optional<uint64_t> fragmented_growth_bytes;
  std::vector<Growth> fragmented_growth;         ///< the largest of it, at most kMaxEvidence
  std::optional<uint64_t> retries;               ///< in measured steps: allocations for which cached memory was given back first
  std::vector<int64_t> retries_at;               ///< the first of them, at most kMaxEvidence
  std::optional<double> batch_factor;            ///< so many times the present batch would fill 90 % of the capacity
  std::optional<double> pinning_calls_per_step;  ///< calls of the process that page-lock or release host memory; none without any
};

/// Why a device holds its clock down: NVML's reasons that are neither idleness nor a setting.
enum class ClockLimit : uint8_t { kPowerCap, kHardware, kSyncBoost, kThermal, kPowerBrake, kUnknown };
inline constexpr size_t kClockLimitCount = 6;
/// The JSON key: "power_cap", "thermal", …
char const* to_string(ClockLimit limit);

/// What counters say of a device over its window (DEFINITIONS, "Device health"). Each sample holds until the next.
struct TelemetryStats {
  struct Spread {
    double min, median, max;  ///< by time
  };
  std::optional<Spread> sm_clock_mhz, memory_clock_mhz, power_w, temperature_c, utilization_percent;
  std::optional<double> busy_clock_mhz;       ///< median of the SM clock over the busy time
  std::optional<double> sustained_clock_mhz;  ///< its 95th percentile over the whole recording's busy time
  std::optional<double> clock_to_peers;       ///< busy_clock_mhz / median of that of the run's other devices of this name
  /// Busy time at less than 0.9 × sustained_clock_mhz, or under a limit of the clock; none where no counter tells either.
  std::optional<int64_t> throttled_ns;
  /// Of the busy time, by ClockLimit; several may hold. None where no counter tells limits.
  std::optional<std::array<int64_t, kClockLimitCount>> limited_ns;
  /// The same kernels at less than 0.9 × sustained_clock_mhz, × their duration at 0.95 × and more; none without both.
  std::optional<double> kernel_slowdown;
  struct SlowStep {
    Interval when;
    int64_t lost_ns;  ///< Σ compute time × (1 − clock / sustained clock) at low clock, no more than kernel_slowdown shows
  };
  std::vector<SlowStep> slow_steps;  ///< steps (without any: the window) that lost time, by time
  std::vector<Interval> throttled;   ///< the longest busy spans of throttled_ns, at most kMaxEvidence
};

/// What waits in a stream or on a device: launch calls whose op has not started, each from the call's begin to the op's start.
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

/// How the ops of a device were launched. A launch call counts once, with the first op that it launched.
struct LaunchStats {
  uint64_t calls = 0;
  std::optional<double> calls_per_step;  ///< of measured steps; none without
  /// Start of the op − end of the call, over all calls, as it is: negative where the op starts before the call returns.
  std::optional<int64_t> latency_median_ns, latency_p95_ns, latency_max_ns;
  int64_t latency_limit_ns = 0;                ///< below it the time to an op's start is the device's own start latency
  uint64_t negative_latencies = 0;             ///< ops that start before their call has returned
  std::optional<int64_t> call_median_ns;       ///< how long the host is in a call
  std::optional<int64_t> kernel_median_ns;     ///< of kernels alone (no copies, memsets, collectives), with or without a launch
  std::optional<QueueStats> queue;             ///< of all streams together; none without a launch
  std::vector<StreamQueue> streams;            ///< by stream, those with launches
  uint64_t graph_ops = 0, graph_launches = 0;  ///< device ops launched by CUDA graphs, and the calls that did
  std::optional<double> graph_share;           ///< of the device's summed op time; none without graphs
};

/// Parts of a window's time whose ops could take less, by why (DEFINITIONS, "Slow time"). They may overlap each other.
struct SlowTime {
  int64_t simt_matrix_ns = 0;      ///< nothing computes but matrix kernels that leave the tensor cores unused
  int64_t small_grid_ns = 0;       ///< a kernel with fewer blocks than the GPU has multiprocessors runs, alone on the device
  int64_t small_grid_lost_ns = 0;  ///< of small_grid_ns: the share of the multiprocessors that have no block
  int64_t serialized_ns = 0;       ///< a kernel that would fit beside the running one waits for it, because of the default stream
  int64_t slow_copy_ns = 0;        ///< of exposed_copy_ns: copies of pageable memory, or that block the host
  int64_t device_copy_ns = 0;      ///< of exposed_copy_ns: nothing is copied but from one place of the device to another
};

/// Idle time of cause kUnexplained, by what is known of it all the same.
struct UnexplainedStats {
  int64_t first_ns = 0;     ///< until the first recorded op: what was before is not in the trace
  int64_t queued_ns = 0;    ///< the next op had been launched, and no record says what it waits for
  int64_t other_ns = 0;     ///< the launch of the next op is not in the trace, or no op follows
  uint64_t queued_ops = 0;  ///< ops that had been launched when the longest part of queued_ns began
};

struct DeviceStats {
  DeviceRef ref;
  std::string name;
  Interval window;                 ///< first start to last end of its device ops
  Interval all_ops;                ///< the same of all that was recorded, whatever was asked for
  bool are_steps_by_time = false;  ///< no launch is known: ops belong to the steps of the host in which they begin
  TimeSplit time;                  ///< over that window
  UnexplainedStats unexplained;    ///< of all its idle time, that before the window included
  uint64_t kernels = 0;            ///< device ops but memcpys: compute, memsets and collectives
  uint64_t copies = 0;             ///< memcpys; kernels + copies = device ops
  uint64_t collectives = 0;        ///< of `kernels`
  uint64_t launches = 0;           ///< launch calls of these ops that the trace has
  LaunchStats launch;              ///< how these ops were launched
  SlowTime slow;                   ///< over `window`
  MemoryStats memory;
  std::optional<TelemetryStats> telemetry;  ///< none without counters
  /// Of the memcpys in steps that are no warm-up (without steps: of all) the longest.
  struct Copy {
    Interval when;
    uint32_t track;  ///< of the process
  };
  std::vector<Copy> longest_copies;
};

}  // namespace stepscope::analyzer
