// Everything Stepscope knows about a run: facts, computed once, and the findings that rules draw from them. The JSON, the text,
// the report and the viewer show these numbers and compute none of their own. Every definition: docs/DEFINITIONS.md. Times are
// integer ns; instants are run time (RankTrace::offset_ns applied). optional = the fact does not exist, never 0 instead.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/model/intervals.h"
#include "trace/model/run.h"

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
  int64_t exposed_wait_ns = 0;                          ///< of exposed_comm_ns: waiting for peers, not moving data
  IdleSplit idle_by_cause{};                            ///< sums to idle_ns
  [[nodiscard]] std::optional<double> overlap() const;  ///< none without communication
  [[nodiscard]] std::optional<double> utilization() const;
};

struct MemoryFacts {
  std::optional<uint64_t> capacity_bytes, peak_allocated_bytes, peak_reserved_bytes;
  std::optional<double> fragmentation;
  struct Point {
    int64_t time_ns;
    uint64_t allocated_bytes, reserved_bytes;
    std::array<uint64_t, 7> by_purpose;  ///< index: model::MemoryPurpose
  };
  std::vector<Point> timeline;                        ///< after every allocation and free, by time
  std::array<uint64_t, 7> by_purpose_at_peak{};       ///< at the first instant of peak_allocated_bytes
  std::optional<double> floor_growth_bytes_per_step;  ///< slope of the per-step minimum; none with fewer than 5 steps
};

struct DeviceFacts {
  DeviceRef ref;
  std::string name;
  Interval window;           ///< first start to last end of its device ops
  TimeSplit time;            ///< over that window
  uint64_t kernels = 0;      ///< device ops but memcpys: compute, memsets and collectives
  uint64_t copies = 0;       ///< memcpys; kernels + copies = device ops
  uint64_t collectives = 0;  ///< of `kernels`
  uint64_t launches = 0;     ///< launch calls of these ops that the trace has
  MemoryFacts memory;
};

/// A gap of the device, or a part of one, with its cause and the host op to blame (if one was running).
struct IdleGap {
  DeviceRef ref;
  Interval when;
  IdleCause cause = IdleCause::kUnexplained;
  std::optional<uint32_t> host_row;     ///< row of the host event that explains it
  std::optional<uint32_t> next_op_row;  ///< the device op that ends the gap
};

struct StepFacts {
  DeviceRef ref;
  int64_t step = 0;
  Interval host_window;  ///< the annotated range
  Interval window;       ///< device window: what `time` splits
  TimeSplit time;
  bool warmup = false;  ///< left out of statistics and findings
};
/// Where steps came from.
enum class StepSource : uint8_t { kNone, kAnnotation, kNvtxPattern, kDetected };

/// The same collective on all its participants.
struct CollectiveFacts {
  uint64_t communicator = 0, sequence = 0;
  model::CollectiveOp op = model::CollectiveOp::kUnknown;
  uint64_t bytes = 0;
  uint32_t expected_participants = 0;
  struct Participant {
    DeviceRef ref;
    uint32_t row;
    Interval when;
    int64_t wait_ns;  ///< dur − transfer
  };
  std::vector<Participant> participants;  ///< by rank in the communicator
  int64_t transfer_ns = 0;                ///< the shortest participant's duration
  int64_t skew_ns = 0;                    ///< last start − first start
  int32_t last_participant = -1;          ///< index of the last arriver
  std::optional<double> busbw_gbps;       ///< none when a participant is missing or bytes are unknown
};

/// t = alpha + bytes / beta over collectives of one op and communicator.
struct LinkFit {
  uint64_t communicator = 0;
  model::CollectiveOp op = model::CollectiveOp::kUnknown;
  double alpha_us = 0, beta_gbps = 0, half_bandwidth_bytes = 0;
  uint32_t samples = 0;
};

/// Kernels of one name on one device.
struct KernelFacts {
  DeviceRef ref;
  std::string name;
  model::EventKind kind = model::EventKind::kKernel;
  uint64_t count = 0;
  int64_t total_ns = 0, median_ns = 0, p95_ns = 0, min_ns = 0, max_ns = 0;
  double share = 0;                  ///< of the device's summed op time
  std::optional<double> flops_rate;  ///< operations per second, where known
};

enum class Severity : uint8_t { kInfo, kWarning, kCritical };
char const* to_string(Severity severity);

/// What a rule concludes: numbers and places, no prose (reports/wording has the words).
struct Finding {
  std::string rule;  ///< the rule's name, e.g. "input-bound"
  Severity severity = Severity::kInfo;
  std::optional<DeviceRef> where;
  std::optional<int64_t> cost_ns_per_step;
  std::optional<double> gain_ceiling;  ///< T/(T−R) − 1
  std::vector<std::pair<std::string, double>> metrics;
  std::vector<std::pair<std::string, std::string>>
      subjects;  ///< names from the trace: {"host_op", "augment batch"}; hostile text
  struct Evidence {
    DeviceRef ref;
    Interval when;
    std::optional<uint32_t> track;  ///< index of the track in its trace
  };
  std::vector<Evidence> evidence;  ///< worst first, at most kMaxEvidence
};
inline constexpr size_t kMaxEvidence = 10;

/// How far to trust the run: sums over its traces' logs (model::ImportLog) and a score from 100 (nothing wrong) down.
struct Quality {
  uint64_t dropped = 0, unmatched_launches = 0, negative_latencies = 0, overlapping_slices = 0, lost_blocks = 0;
  bool truncated = false;
  std::vector<int32_t> missing_ranks;
  int32_t score = 100;
  std::vector<std::string> notes;
};

struct Analysis {
  std::vector<DeviceFacts> devices;  ///< by ref
  StepSource step_source = StepSource::kNone;
  std::vector<StepFacts> steps;  ///< by (ref, step)
  uint64_t ops_outside_steps = 0;
  std::vector<IdleGap> gaps;                 ///< by (ref, time)
  std::vector<CollectiveFacts> collectives;  ///< by first start
  std::vector<LinkFit> links;
  std::vector<KernelFacts> kernels;  ///< by (ref, total descending)
  std::vector<Finding> findings;     ///< by severity, then cost, both descending
  Quality quality;
};

struct AnalyzeOptions {
  std::optional<std::pair<int64_t, int64_t>> steps;  ///< only steps A..B, both included
  std::optional<int32_t> rank;                       ///< only this rank
  int64_t launch_latency_limit_ns = 10'000;          ///< gaps shorter than this are the device's own start latency
  int32_t warmup_steps = 1;                          ///< first steps of a run left out of findings, when more than 4 are there
};

/// Facts and findings of a run. Never fails: what cannot be computed is absent, and Quality says why.
Analysis analyze(model::Run const& run, AnalyzeOptions const& options = {});

}  // namespace stepscope::analyzer
