// What a step of the run is, one by one and on average: the first numbers of every report. A step's period is its device window
// and the idle time that led to it (analyzer/metrics/steps/measured_steps.h says when), so that waiting between steps is in it.
// Means are plain means over the (step, device) pairs that findings measure, too: no warm-up, no slow start, no outliers. Without
// steps they are over the devices' whole windows.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/results/analysis.h"
#include "reports/words/labels.h"

namespace stepscope::reports {

/// Exact breakdown of a step on a device.
struct StepPeriod {
  analyzer::StepStats const* step;
  model::Interval when;                        ///< the period; of a warm-up step its window
  std::array<int64_t, kPartCount> parts_ns{};  ///< by part(); sums to the period's length
  bool is_measured = false;                    ///< no warm-up, and behind the step before it
  bool is_steady = false;                      ///< measured, and what findings and means are about
};
/// In the order of Analysis::steps, warm-up steps included.
std::vector<StepPeriod> step_periods(analyzer::Analysis const& analysis);

struct Summary {
  bool has_steps = false;                            ///< false: the split is of the devices' windows
  size_t steps = 0, warmup_steps = 0;                ///< distinct step numbers, counted and left out
  size_t unusual_steps = 0;                          ///< of the counted: much longer than the others on some device
  double mean_ns = 0;                                ///< of a usual step (or window): the sum of `parts_ns`
  double mean_of_all_ns = 0;                         ///< of a counted step, the unusual ones included
  std::array<double, kPartCount> parts_ns{};         ///< by part()
  std::optional<int64_t> median_ns, p95_ns;          ///< of a step's period; none without steps
  int largest_loss = -1;                             ///< part with the largest mean that is not compute; -1 = none
  std::optional<double> utilization;                 ///< busy / window over all devices
  std::optional<double> overlap;                     ///< of communication with compute, over all devices
  std::optional<uint64_t> peak_reserved_bytes;       ///< of the device that holds most
  [[nodiscard]] double share(int part_index) const;  ///< of the mean; 0 when there is nothing
};

Summary summarize(analyzer::Analysis const& analysis);

/// The usual steps of a device: where a run has one device these are the means of its Summary.
struct DeviceMean {
  analyzer::DeviceRef ref;
  size_t steps = 0;
  double step_ns = 0;                         ///< 0 without usual steps
  std::array<double, kPartCount> parts_ns{};  ///< by part(); sums to step_ns
  std::optional<double> overlap;              ///< of communication with compute; none without communication
  [[nodiscard]] double idle_ns() const;
};
/// One for each of Analysis::devices.
std::vector<DeviceMean> device_means(analyzer::Analysis const& analysis);

/// The sorted sequence's value at fraction q, nearest rank. Must not be empty.
int64_t quantile(std::vector<int64_t> const& sorted, double q);

/// One or two sentences: how long a step is, how much of it the devices compute, what costs most. `summary`: of the analysis.
std::string verdict(model::Run const& run, analyzer::Analysis const& analysis, Summary const& summary);

}  // namespace stepscope::reports
