// A job on more and more devices: what each number of devices gives, what it loses and to what, and
// how far it goes on (DEFINITIONS, "Scaling"). Numbers and names, no prose: reports say it in
// words.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/compare/run_sample.h"
#include "analyzer/scaling/factors.h"
#include "analyzer/scaling/fits.h"
#include "analyzer/scaling/growth.h"
#include "analyzer/scaling/lost_time.h"
#include "analyzer/scaling/replayed_curve.h"
#include "analyzer/scaling/workload_kind.h"

namespace stepscope::analyzer {

/// All runs of one number of devices. Times are ns.
struct ScalingPoint {
  uint64_t devices = 0;
  std::vector<std::string> runs;  ///< names; hostile text
  uint64_t steps = 0, warmup_steps = 0, slow_start_steps = 0, outlier_steps = 0,
           incomplete_steps = 0;  ///< of all runs
  Estimate step_ns;
  Estimate
      throughput;  ///< per second: steps at strong scaling, steps of a device at weak, or samples
  Estimate speedup, efficiency;  ///< against the fewest devices, where they are 1 and sure
  std::array<double, kStepPartCount> parts_ns{};  ///< of the mean step, by StepPart; sums to it
  ScalingFactors factors;
  double copied_in_bytes = 0;  ///< per step and device
};

/// What is not the same as at the fewest devices, apart from what a scaling series changes.
struct PointDifference {
  size_t point = 0;
  Difference difference;
};

enum class SeriesCaveat : uint8_t {
  kOneRun,        ///< some number of devices has one run: how far runs vary is not known there
  kOneStep,       ///< a single run of a single step: no interval
  kDrift,         ///< the step time drifts within a run
  kKernelNames,   ///< less than half of the kernel time is of kernels that the fewest devices have,
                  ///< too
  kMissingRanks,  ///< of a run ranks are missing: counted as devices, their times are not known
  kUnusedDevices,   ///< devices without steps: not counted
  kTraceIntegrity,  ///< a recording lost events
  kOutliers,    ///< steps that were left out cost so much more on average that efficiencies would
                ///< differ by 2 % and more
  kSuperlinear  ///< more than ideal, beyond its interval and 2 %
};
/// "one_run", "one_step", "drift", "kernel_names", "missing_ranks", "unused_devices", "quality",
/// "outliers", "superlinear".
char const* to_string(SeriesCaveat caveat);
struct SeriesCaveatStats {
  SeriesCaveat caveat = SeriesCaveat::kOneRun;
  std::vector<uint64_t> devices;  ///< numbers of devices that it is about
};

/// Why there is no series.
enum class SeriesRefusal : uint8_t { kNoSteps, kOneSize, kNoCommonKernel, kKindUnclear };
/// "no_steps", "one_size", "no_common_kernel", "kind_unclear".
char const* to_string(SeriesRefusal refusal);

struct ScalingSeries {
  std::optional<SeriesRefusal>
      refusal;              ///< then nothing else is there but `kind` and the devices of `points`
  std::string refused_run;  ///< without steps that take time, or with other kernels; hostile text
  KindStats kind;           ///< kind.kind is there without refusal
  std::optional<double> samples;  ///< of a step of the job (strong) or of a device (weak), as asked
  std::vector<ScalingPoint> points;  ///< by devices, at least two
  std::vector<PointDifference> differences;
  std::vector<SeriesCaveatStats> caveats;
  /// From the fewest devices to each other number, then from each number to the next where that is
  /// another pair.
  std::vector<LostTime> losses;
  std::array<std::optional<double>, kStepPartCount>
      part_exponents;  ///< of parts_ns over the devices
  std::vector<KernelGrowth> kernels;
  std::vector<CollectiveGrowth> collectives;
  std::optional<FactorBreak> broken;
  ScalingFits fits;
  /// None: no run was replayed. scale_series() does not fill it, since it has no events.
  std::optional<ReplayedCurve> replayed;
  [[nodiscard]] bool is_strong() const { return kind.kind == ScalingKind::kStrong; }
  /// What a device's work at a point is of that at another.
  [[nodiscard]] double ideal_share(size_t from, size_t to) const;
  /// Work per second on so many devices at this cost of a unit of work (CostModel).
  [[nodiscard]] double throughput_at(double devices, double cost_ns) const;
  /// Device time for a unit of work, of a step on so many devices.
  [[nodiscard]] double cost_of_step(uint64_t devices, double step_ns) const {
    return is_strong() ? static_cast<double>(devices) * step_ns : step_ns;
  }
  /// Efficiency of such a step against the fewest devices.
  [[nodiscard]] double efficiency_of(uint64_t devices, double step_ns) const;
};

struct ScalingOptions {
  std::optional<ScalingKind> kind;  ///< else it is found
  std::optional<double> samples;    ///< > 0: then throughput is in samples
};

/// Never fails: what is no series is refused, and caveats say what is left out. Runs of one number
/// of devices are repeats.
ScalingSeries scale_series(std::vector<RunMeasurements> runs, ScalingOptions const& options = {});

/// The devices of a run, those of missing ranks too.
uint64_t devices_of(RunMeasurements const& run);

}  // namespace stepscope::analyzer
