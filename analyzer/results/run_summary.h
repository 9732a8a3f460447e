// A run in a few numbers: its steps one by one and on average, its devices, its hosts.
// metrics/steps/run_summary computes them.
//
// The period of a step is its device window and the idle time that led to it
// (metrics/steps/measured_steps.h says when), so that waiting between steps is counted. Means are
// plain means over the (step, device) pairs that findings measure, too: no warm-up, no slow start,
// no outliers. Without steps they are over the devices' whole windows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "analyzer/results/host_stats.h"
#include "analyzer/results/step_stats.h"

namespace stepscope::analyzer {

/// A step on a device, with its exact breakdown.
struct StepPeriod {
  StepStats const* step;
  Interval when;                               ///< the period; of a warm-up step its window
  std::array<int64_t, kPartCount> parts_ns{};  ///< as part_ns(); sums to the period's length
  bool is_measured = false;                    ///< no warm-up, and after the step before it
  bool is_steady = false;                      ///< measured, and part of findings and means
};

struct RunSummary {
  bool has_steps = false;              ///< false: the split is of the devices' windows
  size_t steps = 0, warmup_steps = 0;  ///< distinct step numbers, counted and left out
  size_t unusual_steps = 0;   ///< counted steps that are outliers or slow starts on some device
  double mean_ns = 0;         ///< of a steady step (or window): the sum of `parts_ns`
  double mean_of_all_ns = 0;  ///< of a counted step, the unusual ones included
  std::array<double, kPartCount> parts_ns{};  ///< as part_ns()
  double exposed_late_ns = 0;                 ///< of exposed communication: caused by late peers
  std::optional<int64_t> median_ns, p95_ns;   ///< of a step's period; none without steps
  int largest_loss = -1;              ///< part with the largest mean except compute; -1 = none
  std::optional<double> utilization;  ///< busy / window over all devices
  std::optional<double> overlap;      ///< of communication with compute, over all devices
  std::optional<uint64_t> peak_reserved_bytes;       ///< of the device with the highest peak
  [[nodiscard]] double share(int part_index) const;  ///< of the mean; 0 when there is nothing
};

/// The steady steps of a device: where a run has one device these are the means of its RunSummary.
struct DeviceMean {
  DeviceRef ref;
  size_t steps = 0;
  double step_ns = 0;                         ///< 0 without steady steps
  std::array<double, kPartCount> parts_ns{};  ///< as part_ns(); sums to step_ns
  double exposed_late_ns = 0;                 ///< of exposed communication: caused by late peers
  std::optional<double> overlap;  ///< of communication with compute; none without communication
  [[nodiscard]] double idle_ns() const;
};

/// Over the steps of all processes without a device.
struct HostSummary {
  uint64_t steps = 0, warmup_steps = 0;  ///< counted over threads and processes
  std::optional<int64_t> mean_ns, median_ns, p95_ns,
      input_ns;  ///< of a counted step's period; none without steps
  HostStats const* slowest =
      nullptr;  ///< the process with the slowest step; null: nothing to compare
};

}  // namespace stepscope::analyzer
