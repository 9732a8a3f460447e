// The parts of the program on each device: its steps, the layers that stand in for steps, its
// phases.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/results/time_split.h"

namespace stepscope::analyzer {

/// Kernels of one name that began in a step's window (metrics/work/step_kernels.h).
struct StepKernel {
  static constexpr uint32_t kOthers = UINT32_MAX;
  /// Place among the device's rows of Analysis::kernels; kOthers: the kernels with less time,
  /// together.
  uint32_t kernel = kOthers;
  uint32_t count = 0;
  int64_t total_ns = 0;  ///< summed durations
};

/// Whether a step directly follows the device's step before it. If so, idle time between them
/// belongs to it.
enum class StepBefore : uint8_t {
  kByNumber,    ///< it follows where its number is the next one
  kFollows,     ///< it follows, whatever the numbers are
  kNotRecorded  ///< it does not: steps between the two are not in the recording
};

struct StepStats {
  DeviceRef ref;
  int64_t step = 0;  ///< which step of the job: once a device, the same on all ranks
  int64_t number =
      0;  ///< the program's own, 0 = none; several steps may share it (each epoch's first)
  Interval host_window;  ///< the annotated range
  Interval window;       ///< device window, which `time` splits
  TimeSplit time;
  bool warmup = false;  ///< left out of statistics and findings
  /// The program paused just before (interleave.h): left out too (`warmup` is set).
  bool after_pause = false;
  SlowTime slow;                    ///< over `window`
  std::vector<StepKernel> kernels;  ///< kernels and memsets, by place
  uint64_t copied_in_bytes = 0;     ///< by copies from host to device that began in the window
  StepBefore before = StepBefore::kByNumber;
  /// Calls of Python functions recorded in the window, and between it and the window before it.
  uint64_t python_frames = 0, python_frames_before = 0;
};
/// Where steps came from.
enum class StepSource : uint8_t { kNone, kAnnotation, kNvtxPattern, kDetected };

/// A layer of the model that repeats in a run without steps; names show that it is one
/// (metrics/steps/repeated_layers.h).
struct RepeatedLayers {
  std::string name;         ///< "blocks.N": of the host ranges that launch it
  std::string first, last;  ///< least and largest number, "3"; with a part of the model, "1.3"
  uint64_t count = 0;       ///< whole periods, on the first device that has them
  int64_t period_ns = 0;    ///< median from one to the next, there
  double confidence = 0;    ///< share of the run's kernels that lie in equal periods
};

/// A named part of the program on one device, over all its occurrences (DEFINITIONS, "Phases").
/// Device times count the ops that it launched.
struct PhaseStats {
  DeviceRef ref;
  std::string name;     ///< empty: further phases together, without device times
  uint64_t names = 1;   ///< how many phases this row stands for
  uint64_t count = 0;   ///< occurrences
  int64_t host_ns = 0;  ///< their summed durations
  uint64_t ops = 0;     ///< device ops launched in them
  std::optional<int64_t> busy_ns, compute_ns;  ///< unions over all occurrences
  std::optional<int64_t>
      exposed_comm_ns;  ///< its communication that no compute of the device hides
  std::optional<int64_t> median_ns, p95_ns;  ///< device time of an occurrence: the union of its ops
};

}  // namespace stepscope::analyzer
