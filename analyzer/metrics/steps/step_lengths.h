// Lengths of counted steps: their distribution, steps to look at, and means of neighbours.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/metrics/steps/run_summary.h"

namespace stepscope::analyzer {

/// Periods of all counted steps (no warm-up) of all devices; of all host threads if devices have no
/// steps.
struct StepLengths {
  size_t count = 0;
  double sum_ns = 0;
  int64_t median_ns = 0, p95_ns = 0;  ///< nearest rank
};
/// None without a counted step.
std::optional<StepLengths> step_lengths(Analysis const& analysis);

/// A step number, and where it ran over all devices and their hosts.
struct ExampleStep {
  int64_t step = 0;
  Interval when;
};
struct ExampleSteps {
  ExampleStep typical;  ///< of median length; of an even number the shorter of the two
  ExampleStep slowest;
};
/// None without a counted step of a device.
std::optional<ExampleSteps> example_steps(Analysis const& analysis);

/// Neighbouring counted steps of a device.
struct StepGroup {
  int64_t first = 0, last = 0;                 ///< step numbers
  std::array<int64_t, kPartCount> parts_ns{};  ///< means, as part_ns()
};
/// At most `most` ≥ 1 groups of equally many steps; the last may have fewer. `periods`: those of
/// step_periods().
std::vector<StepGroup> step_groups(std::vector<StepPeriod> const& periods, DeviceRef ref,
                                   size_t most);

}  // namespace stepscope::analyzer
