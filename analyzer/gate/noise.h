// How far a number varies from one value to the next, what change is detectable in that noise, and
// how many more values an answer needs. Computed from the comparison's interval, by the formulas
// that made it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/compare/judgement.h"

namespace stepscope::analyzer {

/// The mean of a number over a side, as far as it is known.
struct MeanInterval {
  double mean = 0, low = 0, high = 0;  ///< with kCompareConfidence; of all values where they drift
  double deviation = 0;                ///< of one value
  CompareUnit unit = CompareUnit::kStep;
  size_t values = 0;
  double independent =
      0;  ///< values that tell as much as these do, which may be alike in succession
  bool is_known = false;  ///< else there are too few values to say how far they vary
};
/// values[run][step], as for measure_change(). One run a side: n values that correlate by ρ tell as
/// much as n (1 − ρ) / (1 + ρ).
MeanInterval measure_mean(std::span<std::vector<double> const> runs);

/// More values, of the unit that was compared, until an answer is expected 4 times of 5 if it goes
/// on like this.
struct MoreValues {
  size_t count = 0;            ///< on each side that needs them
  bool on_both_sides = false;  ///< else of the new side alone
  CompareUnit unit =
      CompareUnit::kStep;  ///< kStep also where blocks are compared: steps are counted
};
/// Stepscope never asks for more than this: recording it is not practical. A run is a program that
/// starts and warms up each time.
inline constexpr size_t kMostMoreValues = 10'000, kMostMoreRuns = 100;
/// A limit that takes so many times as many steps, or so many, is about at the value itself.
inline constexpr size_t kMostTimesMoreSteps = 10, kMostMoreSteps = 1000;

struct Noise {
  double deviation = 0;          ///< of one value, in the unit of the number
  double detectable_change = 0;  ///< the values at hand detect so much with 90 % probability
};
/// Nothing where the change was not tested, or drifts. `least` as in judge().
std::optional<Noise> noise_of(Change const& change, double least);

/// Values that would settle an unclear change. Nothing if no number of values would: the change is
/// as large as the least one that matters, or drifts.
std::optional<MoreValues> values_to_settle(Change const& change, double least);
/// The same until the interval of a mean is on one side of a limit.
std::optional<MoreValues> values_to_settle(MeanInterval const& mean, double limit);

}  // namespace stepscope::analyzer
