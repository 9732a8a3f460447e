// How a device's memory grows from step to step, and when it will be full (DEFINITIONS, "Memory").
// All from the curve of its totals. Windows are the host ranges of steps: disjoint, by time.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// One value a step; none before the first point of the timeline.
using StepBytes = std::vector<std::optional<uint64_t>>;

/// The lowest allocated_bytes within each window; what is live at its begin counts.
StepBytes memory_floors(std::vector<MemoryStats::Point> const& timeline,
                        std::vector<Interval> const& windows);

/// reserved_bytes at the end of each window; none where no reserve is reported.
StepBytes reserved_at_ends(std::vector<MemoryStats::Point> const& timeline,
                           std::vector<Interval> const& windows);

/// The most that is held within each window: reserved, or allocated where no reserve is reported.
StepBytes highest_footprint(std::vector<MemoryStats::Point> const& timeline,
                            std::vector<Interval> const& windows);

/// Slope over the steps' place by least squares, in bytes per step, with its standard error.
struct Slope {
  double bytes_per_step = 0, standard_error = 0;
  size_t steps = 0;
};
inline constexpr size_t kFewestFloors = 5;
/// None with fewer than kFewestFloors.
std::optional<Slope> slope_of(StepBytes const& values);
std::optional<double> floor_growth(StepBytes const& floors);

/// When values that grow like these have grown by `room`; none where they may stop growing. They
/// may where the slope's 95 % interval (Student's t) reaches 0, or hardly any of the rise is in the
/// second half of the steps.
std::optional<MemoryForecast> forecast_of(StepBytes const& values, double room_bytes,
                                          std::optional<int64_t> step_ns);

/// Allocations within the windows (without windows: all) for which the reserve grew although it had
/// as much free memory in total. The free pieces were all too small.
std::vector<MemoryStats::Growth> growth_despite_room(
    std::vector<MemoryStats::Point> const& timeline, std::vector<Interval> const& windows);

/// The present batch times this factor fills kUsableShare of the capacity, when weights, gradients
/// and optimizer state stay as they are and all else grows with it. None where purposes are not
/// known (over a tenth is `other`), nothing is known to be activations, or what stays does not fit.
std::optional<double> batch_factor(std::array<uint64_t, 7> const& by_purpose_at_peak,
                                   uint64_t capacity_bytes);
/// Above it memory is under pressure (DEFINITIONS, "Memory").
inline constexpr double kUsableShare = 0.9;

}  // namespace stepscope::analyzer
