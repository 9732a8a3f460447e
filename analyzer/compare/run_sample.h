// The values of a run that are compared with another: its steps, one value a step of the job, and
// the conditions of the run. Made from an analysis alone, so the traces of a run need not stay in
// memory while the next is read.
//
// A step of the job is the mean over its devices of that step's period (DEFINITIONS, "Comparing
// runs"). The periods of a device follow each other without a gap, so every device's periods sum to
// the time that the job took. Their mean does not depend on which device ended which step last. The
// longest period of each step instead would sum to more than the job took.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// Exact breakdown of a step's time: `idle` begins at 4, by IdleCause.
enum class StepPart : uint8_t {
  kCompute = 0,
  kCommunication = 1,
  kWaiting = 2,
  kCopies = 3,
  kFirstIdle = 4
};
/// Share of the steady steps of an interleaved run that count, the fastest ones. Whatever else the
/// machine does makes steps slower, never faster.
inline constexpr double kFastestInTurn = 0.25;
inline constexpr size_t kStepPartCount = 4 + kIdleCauseCount;
/// The step part of an idle cause.
inline StepPart idle_part(IdleCause cause) {
  return static_cast<StepPart>(static_cast<size_t>(StepPart::kFirstIdle) +
                               static_cast<size_t>(cause));
}
/// The JSON key: "compute", "exposed_comm" (exposed communication but the next), "exposed_late"
/// (the part that late peers cause), "exposed_copy", or that of the idle cause.
char const* to_string(StepPart part);
/// The part of a key, as files have it: those of before call kWaiting "exposed_wait". None of any
/// other text.
std::optional<StepPart> step_part_of(std::string_view key);

/// Everything per step is in the order of `steps`. Times are ns.
struct RunMeasurements {
  std::string name;
  std::vector<int64_t> steps;  ///< numbers of the usual steps that all its devices have
  uint64_t warmup_steps = 0, slow_start_steps = 0,
           outlier_steps = 0;     ///< distinct numbers, on any device; left out
  uint64_t incomplete_steps = 0;  ///< usual, but not on all devices; left out
  double all_steps_ns = 0;        ///< mean over the periods of all steps but the warm-up
  double steady_steps_ns = 0;     ///< and over the usual ones
  std::optional<double> p95_ns;   ///< of the periods that all_steps_ns is the mean of
  StepSource step_source = StepSource::kNone;
  /// Steady steps of an interleaved run; only the fastest of them are in `steps`. 0 = not
  /// interleaved.
  uint64_t steps_in_turn = 0;

  std::vector<double> step_ns;                ///< mean over the devices
  std::vector<std::vector<double>> parts_ns;  ///< [StepPart]; they sum to step_ns

  /// Kernels and memsets of one name: per step, summed over the devices and divided by their
  /// number.
  struct Kernel {
    std::string name;  ///< hostile text; empty: all that are not told apart
    std::vector<double> ns, calls;
  };
  std::vector<Kernel> kernels;                   ///< most time first, the others last
  std::unordered_set<std::string> kernel_names;  ///< of all kernels of the run
  bool knows_all_kernels = true;  ///< else a name that is not there may be there all the same

  /// Collectives of one operation and size: in steps that have them the mean of their transfers,
  /// and how many there were.
  struct Collective {
    model::CollectiveOp op = model::CollectiveOp::kUnknown;
    uint64_t bytes = 0;
    std::vector<double> transfer_ns;
    double per_step = 0;
    double total_ns = 0;
  };
  std::vector<Collective> collectives;  ///< most time first

  /// Most that the fullest device held in each step; empty where that is not known.
  std::vector<double> allocated_bytes, reserved_bytes;
  /// And in the whole recording, warm-up and outliers too.
  std::optional<double> peak_allocated_bytes, peak_reserved_bytes;

  /// Idle time by what the host did meanwhile: per step and device, at most the idle part of its
  /// cause.
  struct HostOp {
    IdleCause cause = IdleCause::kUnexplained;
    std::string name;  ///< hostile text
    double ns = 0;
  };
  std::vector<HostOp> host_ops;
  /// The steps are those of processes without a device: a step is kCompute, its work, and the idle
  /// cause input, its wait for data.
  bool of_hosts = false;
  /// Own time of a range in a steady step of such a program.
  struct HostRange {
    std::string name;    ///< hostile text
    bool waits = false;  ///< for data
    double ns = 0;
  };
  std::vector<HostRange> ranges;  ///< most time first
  /// Waiting that a device caused, per step and device.
  struct Late {
    int32_t rank = 0, device = 0;
    std::string cause;    ///< cause_of()
    std::string host_op;  ///< hostile text
    double exposed_ns = 0;
  };
  std::vector<Late> late;

  /// A finding of the run, about its worst place.
  struct Found {
    std::string rule;
    Severity severity = Severity::kInfo;
    std::optional<int64_t> cost_ns;  ///< per step
    std::optional<double> gain;      ///< Finding::gain_alone
  };
  std::optional<std::vector<Found>> findings;  ///< one a rule; none where they are not known

  /// Times of each device that has steps, by ref: over `steps`, ns.
  struct DeviceTime {
    double compute_ns = 0, busy_ns = 0;
  };
  std::vector<DeviceTime> device_times;

  uint64_t devices = 0;          ///< that have steps
  uint64_t devices_without = 0;  ///< that have none: left out
  uint64_t processes = 0;
  std::vector<std::string> device_names, hosts;            ///< distinct, sorted
  std::string command, tool;                               ///< of the first process
  std::vector<std::pair<std::string, std::string>> facts;  ///< likewise: driver, cpu, settings
  std::optional<double> busy_clock_mhz;                    ///< mean over the devices
  double copied_in_bytes = 0;  ///< from host to device, per step, over all devices
  uint64_t fed_devices = 0;    ///< to which anything is copied
  double kernel_calls = 0;     ///< per step and device
  std::vector<int32_t> missing_ranks;
  int32_t integrity = 100;
};

/// Never fails: what the run has no steps for is empty. O(steps · kernels + facts).
RunMeasurements sample_run(model::Run const& run, Analysis const& analysis);

}  // namespace stepscope::analyzer
