// What changed between two sides of runs, whether it is real, and why (DEFINITIONS, "Comparing
// runs"). Numbers and names, no prose: reports say it in words.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/compare/finding_changes.h"
#include "analyzer/compare/judgement.h"
#include "analyzer/compare/run_sample.h"

namespace stepscope::analyzer {

/// Numbers of one family are corrected together (Holm). The step time is asked for alone, and so is
/// a family of its own.
enum class MetricFamily : uint8_t { kStep, kPart, kMemory, kKernel, kCollective };
/// "step", "part", "memory", "kernel", "collective".
char const* to_string(MetricFamily family);

struct Metric {
  MetricFamily family = MetricFamily::kStep;
  /// A part's key, in programs without a device "host_work" or "host_input"; "allocated" or
  /// "reserved" for memory; a kernel's name (hostile text); a collective's operation.
  std::string name;
  uint64_t bytes = 0;  ///< of collectives: the message
  Change change;  ///< ns per step; of memory bytes; of kernels ns per call; of collectives ns of
                  ///< transfer
  double adjusted_p = 1;
  double least = 0;  ///< the smallest change that matters
  Verdict verdict = Verdict::kUnclear;
};

/// A part of the change of the mean step time. All of them sum to it, to the ns.
enum class ChangePart : uint8_t {
  kKernelSpeed = 0,                 ///< calls of the kernels that both sides have take longer
  kKernelCalls = 1,                 ///< and there are more of them
  kNewKernels = 2,                  ///< kernels that only the new side has
  kVanishedKernels = 3,             ///< kernels that only the base has
  kKernelOverlap = 4,               ///< kernels run side by side less
  kCommunication = 5,               ///< exposed, without what late peers cause
  kWaiting = 6,                     ///< exposed communication that late peers cause
  kCopies = 7,                      ///< exposed
  kFirstIdle = 8,                   ///< by IdleCause
  kHostWork = 8 + kIdleCauseCount,  ///< of programs without a device: their work
  kHostInput = 9 + kIdleCauseCount  ///< and their waits for data
};
inline constexpr size_t kChangePartCount = 10 + kIdleCauseCount;
/// Idle time of a device.
inline bool is_idle(ChangePart part) {
  return part >= ChangePart::kFirstIdle && part < ChangePart::kHostWork;
}
/// "kernel_speed", "kernel_calls", "new_kernels", "vanished_kernels", "kernel_overlap",
/// "exposed_comm", "exposed_late", "exposed_copy", the key of the idle cause, "host_work" or
/// "host_input".
char const* to_string(ChangePart part);

/// A kernel's part in it, per step and device, ns.
struct KernelChange {
  enum class Where : uint8_t { kBoth = 0, kNew = 1, kVanished = 2 };
  std::string name;  ///< hostile text; empty: all kernels that are not told apart
  Where where = Where::kBoth;
  double base_calls = 0, candidate_calls = 0;  ///< per step and device
  double base_ns = 0, candidate_ns = 0;        ///< summed durations
  double speed_ns = 0,
         calls_ns = 0;  ///< of the difference: calls take longer; there are more of them
};

struct HostOpChange {
  IdleCause cause = IdleCause::kUnexplained;
  std::string name;  ///< hostile text
  double base_ns = 0, candidate_ns = 0;
};
/// Own time of a range in a step, in programs without a device.
struct RangeChange {
  std::string name;    ///< hostile text
  bool waits = false;  ///< for data
  double base_ns = 0, candidate_ns = 0;
};
struct LateChange {
  int32_t rank = 0, device = 0;
  std::string cause, host_op;  ///< cause_of(); hostile text
  double base_ns = 0, candidate_ns = 0;
};

/// What is not the same for both sides before any step runs: told first, since it may be all that
/// there is to know.
enum class Condition : uint8_t {
  kDevice,
  kDeviceCount,
  kProcesses,
  kHost,
  kFact,  ///< of the recording, by its name: driver, cpu, settings
  kCommand,
  kTool,
  kClock,     ///< busy SM clocks differ by more than 2 %, MHz
  kCopiedIn,  ///< bytes copied to the devices in a step differ by more than 2 %: another batch, or
              ///< other data
  kStepSource,   ///< steps were found in another way
  kStepNumbers,  ///< the sides have no measured step number in common
};
/// "device", "devices", "processes", "host", "fact", "command", "tool", "clock_mhz",
/// "copied_in_bytes", "step_source", "steps".
char const* to_string(Condition condition);

struct Difference {
  Condition condition = Condition::kDevice;
  std::string name;                                     ///< of a fact; hostile text
  std::string base, candidate;                          ///< hostile text
  std::optional<double> base_number, candidate_number;  ///< instead, where it is a number
};

/// What a reader has to know of the verdicts.
enum class Caveat : uint8_t {
  kOneRun,    ///< one run a side: how far runs vary is not known
  kFewRuns,   ///< unclear, with so few runs or pairs that only a change of many times their
              ///< variation is detectable
  kFewSteps,  ///< fewer than kFewestComparedSteps a side: no verdict
  kDrift,     ///< the step time drifts within a run
  kOutliers,  ///< what steps cost that were left out as outliers or slow start changed, by `ns` per
              ///< step
  kKernelNames,  ///< hardly any kernel time is of kernels that both sides have: another program?
  kMissingRanks,
  kTraceIntegrity,  ///< a recording lost events
  kInTurn,   ///< of runs made in turn the fastest steps count; `ns`, `low_ns` to `high_ns` is what
             ///< all of them changed by
  kNoMemory  ///< a side says nothing of memory
};
/// "one_run", "few_runs", "few_steps", "drift", "outliers", "kernel_names", "missing_ranks",
/// "quality", "in_turn", "no_memory".
char const* to_string(Caveat caveat);

struct CaveatStats {
  Caveat caveat = Caveat::kOneRun;
  double ns = 0, low_ns = 0, high_ns = 0;  ///< see the caveats
  size_t needed = 0;  ///< of kFewRuns: runs a side, or pairs, that would settle it; 0 = not known
};

/// Why there is nothing to compare.
enum class Refusal : uint8_t {
  kNoRun,
  kNoSteps,
  kOneStep,
  kNoCommonKernel,
  kNotPaired,
  kOneSideInTurn
};
/// "no_run", "no_steps", "one_step", "no_common_kernel", "not_paired", "one_side_in_turn".
char const* to_string(Refusal refusal);

struct SideStats {
  std::vector<std::string> runs;  ///< names; hostile text
  uint64_t devices = 0;           ///< of all runs
  uint64_t steps = 0, warmup_steps = 0, slow_start_steps = 0, outlier_steps = 0,
           incomplete_steps = 0;  ///< of all runs
  int64_t mean_ns = 0;            ///< of a step
};

struct Comparison {
  std::optional<Refusal> refusal;  ///< then nothing else is there but `base` and `fresh`
  /// The step's verdict. Unclear where the steady steps are no slower, but the left-out steps cost
  /// more than before.
  Verdict verdict = Verdict::kUnclear;
  std::string refused_run;  ///< that has no steps, or one
  SideStats base, candidate;
  std::vector<Difference> differences;
  std::vector<CaveatStats> caveats;
  double least_share = 0;       ///< of the base: the smallest change that matters
  std::vector<Metric> metrics;  ///< the step first, then its parts, memory, kernels, collectives
  /// Parts of candidate.mean_ns − base.mean_ns, by ChangePart; they sum to it.
  std::array<int64_t, kChangePartCount> parts_ns{};
  std::vector<KernelChange>
      kernels;  ///< largest change first; the numbers of parts_ns before rounding
  std::vector<HostOpChange> host_ops;  ///< largest change first
  std::vector<LateChange> late;        ///< largest change first
  bool of_hosts = false;               ///< of programs without a device
  std::vector<RangeChange> ranges;     ///< of these; largest change first
  std::vector<FindingChange> findings;
  [[nodiscard]] Metric const& step() const { return metrics.front(); }  ///< only without refusal
};

struct CompareOptions {
  double least_share = 0.02;  ///< the smallest change that matters
  bool paired =
      false;  ///< the runs were made in turn: the i-th of one side belongs to the i-th of the other
};

/// Never fails: what cannot be compared is refused or absent, and caveats say what is left out.
Comparison compare_runs(std::vector<RunMeasurements> const& base,
                        std::vector<RunMeasurements> const& candidate,
                        CompareOptions const& options = {});

}  // namespace stepscope::analyzer
