// Everything Stepscope knows about a run: facts, computed once, and the findings that rules draw from them. The JSON, the text,
// the report and the viewer show these numbers and compute none of their own. Every definition: docs/reference/DEFINITIONS.md.
// Times are integer ns; instants are run time (RankTrace::offset_ns applied). optional = the fact does not exist, never 0
// instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/results/critical_path_stats.h"
#include "analyzer/results/device_stats.h"
#include "analyzer/results/host_stats.h"
#include "analyzer/results/idle_gaps.h"
#include "trace/model/run.h"

namespace stepscope::analyzer {

/// Kernels of one name that began in a step's window (metrics/work/step_kernels.h).
struct StepKernel {
  static constexpr uint32_t kOthers = UINT32_MAX;
  uint32_t kernel = kOthers;  ///< place among the device's rows of Analysis::kernels; or the kernels with less time, together
  uint32_t count = 0;
  int64_t total_ns = 0;  ///< summed durations
};

/// Whether a step follows the device's step before it, so that idle time between them belongs to it.
enum class StepBefore : uint8_t {
  kByNumber,    ///< if its number does
  kFollows,     ///< it does, whatever their numbers are
  kNotRecorded  ///< steps between them are not in the recording
};

struct StepStats {
  DeviceRef ref;
  int64_t step = 0;      ///< which step of the job: once a device, the same on all ranks
  int64_t number = 0;    ///< as the program gave it: others may have the same (each epoch's first); 0 where it gave none
  Interval host_window;  ///< the annotated range
  Interval window;       ///< device window: what `time` splits
  TimeSplit time;
  bool warmup = false;              ///< left out of statistics and findings
  bool held = false;                ///< left out likewise (`warmup` is set): its program was held just before (turns.h)
  SlowTime slow;                    ///< over `window`
  std::vector<StepKernel> kernels;  ///< what computed: kernels and memsets, by place
  uint64_t copied_in_bytes = 0;     ///< by copies from host to device that began in the window
  StepBefore before = StepBefore::kByNumber;
};
/// Where steps came from.
enum class StepSource : uint8_t { kNone, kAnnotation, kNvtxPattern, kDetected };

/// What repeats in a run without steps, where names tell that it is a layer of the model (metrics/steps/repeated_layers.h).
struct RepeatedLayers {
  std::string name;         ///< "blocks.N": of the host ranges that launch it
  std::string first, last;  ///< least and largest number, "3"; of a part of the model too, "1.3"
  uint64_t count = 0;       ///< whole periods, on the first device that has them
  int64_t period_ns = 0;    ///< median from one to the next, there
  double confidence = 0;    ///< share of all kernels of the run in periods alike
};

/// The same collective on all its participants.
struct CollectiveStats {
  uint64_t communicator = 0, sequence = 0;
  model::CollectiveOp op = model::CollectiveOp::kUnknown;
  uint64_t bytes = 0;
  uint32_t expected_participants = 0;
  struct Participant {
    DeviceRef ref;
    uint32_t row;
    Interval when;
    int64_t wait_ns;                                         ///< dur − transfer
    model::CollectiveOp op = model::CollectiveOp::kUnknown;  ///< its own: of a message, send or receive
    int64_t exposed_late_ns = 0;      ///< no compute hides it, and it would if nobody had come late: at most wait_ns
    int64_t exposed_transfer_ns = 0;  ///< the rest that no compute hides
    model::TrackId track;             ///< of the device's process
    int32_t rank = -1;                ///< in the communicator; < 0: unknown
  };
  std::vector<Participant> participants;  ///< by rank in the communicator
  int64_t transfer_ns = 0;                ///< the shortest participant's duration
  int64_t skew_ns = 0;                    ///< last start − first start
  int32_t last_participant = -1;          ///< index of the last arriver
  std::optional<double> busbw_gbps;       ///< none when a participant is missing or bytes are unknown
};

/// What made a device come last to collectives (DEFINITIONS, "Waiting for peers").
enum class WaitCause : uint8_t {
  kCompute,
  kCommunication,
  kCopy,
  kIdle,
  kLateStart,        ///< its step had begun later already
  kBeforeRecording,  ///< likewise, and its step, or the device, is recorded from there on
  kUnknown
};
/// What of the waiting one device caused in one way. Over all rows: the waits of all participants in measured steps, to the ns.
struct WaitStats {
  DeviceRef ref;  ///< the one that was late
  WaitCause cause = WaitCause::kUnknown;
  IdleCause idle = IdleCause::kUnexplained;  ///< where the cause is kIdle
  std::string host_op;                       ///< what its host was in meanwhile, where the host is the cause; hostile text
  int64_t gpu_ns = 0;                        ///< device time that others waited
  int64_t exposed_ns = 0;                    ///< of gpu_ns: no compute hides it
  uint64_t collectives = 0;                  ///< in which others waited for this, or for what this delayed
};
/// The JSON key: "compute", "comm", "copy", "late_start", "before_recording", "unknown", or that of the idle cause.
char const* cause_of(WaitStats const& waits);

enum class PipelineSchedule : uint8_t { kUnknown, kGpipe, kOneForwardOneBackward };
/// "gpipe", "1f1b", "unknown".
char const* to_string(PipelineSchedule schedule);
/// Devices that pass micro-batches on to each other (DEFINITIONS, "Pipelines"); over the measured steps.
struct PipelineStats {
  struct Stage {
    DeviceRef ref;
    int64_t total_ns = 0;    ///< Σ steps
    int64_t bubble_ns = 0;   ///< of total_ns: waiting for another stage
    int64_t compute_ns = 0;  ///< of total_ns
    uint64_t steps = 0;
  };
  std::vector<Stage> stages;  ///< the first stage first; at least two
  PipelineSchedule schedule = PipelineSchedule::kUnknown;
  uint32_t micro_batches = 0;  ///< of a step
  double bubble_share = 0;     ///< Σ bubble / Σ steps
  double ideal_share = 0;      ///< of equal stages and instant messages: (p − 1) / (m + p − 1)
  double imbalance = 1;        ///< compute of the stage with most / mean of all
};

/// t = alpha + bytes / beta over collectives of one op and communicator.
struct LinkFit {
  uint64_t communicator = 0;
  model::CollectiveOp op = model::CollectiveOp::kUnknown;
  double alpha_us = 0, beta_gbps = 0, half_bandwidth_bytes = 0;
  uint32_t samples = 0;
};

/// Kernels of one name on one device.
struct KernelStats {
  DeviceRef ref;
  std::string name;
  model::EventKind kind = model::EventKind::kKernel;
  uint64_t count = 0;
  int64_t total_ns = 0, median_ns = 0, p95_ns = 0, min_ns = 0, max_ns = 0;
  double share = 0;                  ///< of the device's summed op time
  std::optional<double> flops_rate;  ///< operations per second, where known
  int64_t mean_ns = 0;               ///< rounded down
  std::optional<bool> tensor_cores;  ///< its name tells that it uses them, or that it multiplies matrices without; else none
  std::optional<double> occupancy_percent;  ///< mean over its time, where known: an estimate (DEFINITIONS, "Launch")
  std::optional<double> bytes_rate;         ///< least memory traffic per second, where known
  std::optional<double> flops_per_byte;     ///< arithmetic intensity, over the calls of which both are known
  std::optional<double> peak_share;         ///< flops_rate / the device's peak, where known
  std::optional<double> small_grid_share;   ///< of its time: calls with fewer blocks than the GPU has multiprocessors
};

/// Device time by the host range in which it was launched (DEFINITIONS, "Kernels"): the rows of a device and level sum to all of
/// its ops.
struct OpStats {
  enum class Level : uint8_t { kOp = 0, kLayer = 1 };  ///< the innermost range; the outermost below step and phase
  enum class What : uint8_t { kRange = 0, kOutside = 1, kUnlaunched = 2, kRest = 3 };
  DeviceRef ref;
  Level level = Level::kOp;
  What what = What::kRange;  ///< a range; launched in none; the launch is not in the trace; further ranges together
  std::string name;          ///< of the range, else empty
  uint64_t count = 0;        ///< device ops
  int64_t total_ns = 0;
  double share = 0;  ///< of the device's summed op time
};

/// What a CUDA graph launched on a device.
struct GraphStats {
  DeviceRef ref;
  uint32_t graph = 0;             ///< its number in the trace; 0 = further graphs together
  uint64_t launches = 0;          ///< calls that the trace has
  uint64_t ops = 0;               ///< device ops
  std::optional<uint64_t> nodes;  ///< different ones among them; none where nodes are not told
  int64_t total_ns = 0;           ///< summed durations
  int64_t gap_ns = 0;             ///< within single launches, from the first op to the last, nothing of the launch ran
};

/// Memcpys of one direction on one device.
struct CopyStats {
  DeviceRef ref;
  model::CopyDirection direction = model::CopyDirection::kUnknown;
  uint64_t count = 0, bytes = 0;
  int64_t total_ns = 0;
  std::optional<double> gbps;  ///< bytes / total_ns: 1e9 bytes per second
  uint64_t small_count = 0;    ///< of fewer than 64 KiB
  /// Of host memory that is not page-locked; none where the recording tells of no copy of this direction whether it is.
  std::optional<uint64_t> pageable_count, pageable_bytes;
  uint64_t blocking_count = 0;  ///< for which the host waited
  int64_t both_ways_ns = 0;     ///< of host to device and device to host: the other direction was copied too
};

/// A named part of the program on one device, over all its occurrences (DEFINITIONS, "Phases"). Device times are of the ops that
/// it launched.
struct PhaseStats {
  DeviceRef ref;
  std::string name;                            ///< empty: further phases together, without device times
  uint64_t names = 1;                          ///< how many phases this row stands for
  uint64_t count = 0;                          ///< occurrences
  int64_t host_ns = 0;                         ///< their summed durations
  uint64_t ops = 0;                            ///< device ops launched in them
  std::optional<int64_t> busy_ns, compute_ns;  ///< unions over all occurrences
  std::optional<int64_t> exposed_comm_ns;      ///< of its communication, what no compute of the device hides
  std::optional<int64_t> median_ns, p95_ns;    ///< device time of an occurrence: the union of its ops
};

/// Idle time of one cause during which one host op ran for most of each gap.
struct HostOpStats {
  DeviceRef ref;
  IdleCause cause = IdleCause::kUnexplained;
  std::optional<std::string> host_op;  ///< none: no op was running (names = 0), or further ops together
  uint64_t names = 0;                  ///< how many ops this row stands for
  uint64_t gaps = 0;                   ///< gaps, or parts of gaps
  int64_t idle_ns = 0;
};

enum class Severity : uint8_t { kInfo, kWarning, kCritical };
char const* to_string(Severity severity);

/// What a rule concludes: numbers and places, no prose (reports/words/wording has the words).
struct Finding {
  std::string rule;  ///< the rule's name, e.g. "input-bound"
  Severity severity = Severity::kInfo;
  std::optional<DeviceRef> where;
  std::optional<int64_t> cost_ns_per_step;
  std::optional<double> gain_ceiling;    ///< T/(T−R) − 1
  std::optional<double> gain_if_hidden;  ///< of communication and copies: the same, as far as there is work to hide it behind
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
struct TraceIntegrity {
  uint64_t dropped = 0, unmatched_launches = 0, unmatched_ops = 0, negative_latencies = 0, overlapping_slices = 0,
           lost_blocks = 0;
  bool truncated = false;
  std::vector<int32_t> missing_ranks;
  int32_t score = 100;
  std::vector<std::string> notes;
};

struct Analysis {
  std::vector<DeviceStats> devices;  ///< by ref
  StepSource step_source = StepSource::kNone;
  std::optional<double> step_confidence;  ///< of detected steps: the share of all kernels that are in steps alike
  std::vector<StepStats> steps;           ///< by (ref, step)
  std::optional<RepeatedLayers> layers;   ///< where layers repeat and no whole step was recorded; then there are no steps
  uint64_t ops_outside_steps = 0;
  IdleGaps gaps;                      ///< by (ref, time)
  std::vector<HostOpStats> host_ops;  ///< by (ref, idle time descending), those without a name last; sums to the gaps by cause
  std::vector<PhaseStats> phases;     ///< by (ref, device time descending), the rest of a device last
  std::vector<HostStats> hosts;       ///< of processes that used no device, by rank_index
  std::vector<NegotiationStats> negotiations;  ///< of processes whose files tell of them, by rank_index
  std::vector<CollectiveStats> collectives;    ///< by first start
  std::vector<WaitStats> waits;                ///< by exposed_ns, then gpu_ns, both descending
  std::vector<PipelineStats> pipelines;        ///< by first stage
  std::vector<LinkFit> links;
  std::vector<KernelStats> kernels;                ///< by (ref, total descending)
  std::vector<OpStats> ops;                        ///< by (ref, level, what, total descending)
  std::vector<GraphStats> graphs;                  ///< by (ref, total descending), further graphs last
  std::vector<CopyStats> copies;                   ///< by (ref, direction)
  std::optional<CriticalPathStats> critical_path;  ///< none without device ops
  std::vector<Finding> findings;                   ///< by severity, then cost, both descending
  TraceIntegrity integrity;
};

struct AnalyzeOptions {
  std::optional<std::pair<int64_t, int64_t>> steps;  ///< only steps A..B, both included
  std::optional<int32_t> rank;                       ///< only this rank
  int64_t launch_latency_limit_ns =
      10'000;  ///< gaps shorter than this are the device's own start latency; more on slow devices (metrics/host/idle_causes.h)
  int32_t warmup_steps = 1;  ///< first steps of a run left out of findings, when more than 4 are there
};

/// Facts and findings of a run. Never fails: what cannot be computed is absent, and TraceIntegrity says why.
Analysis analyze(model::Run const& run, AnalyzeOptions const& options = {});

}  // namespace stepscope::analyzer
