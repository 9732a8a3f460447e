// What the rules about memory share: whether a device's reserve is large because of holes between
// its blocks.
#pragma once

#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// A sound cache holds a tenth more than was ever in use at once: it rounds sizes up, and its
/// segments are not quite full.
inline constexpr double kLeastExcess = 0.25;
/// Least share of the excess that was taken in measured steps although enough was free. Other
/// excess may come from an earlier time that needed more.
inline constexpr double kLeastFragmentedGrowth = 0.5;

/// A run whose memory will be full within so many steps fails within a day's work.
inline constexpr double kSoonSteps = 1000;

/// The reserve is at least kLeastExcess larger than what was ever in use. At least
/// kLeastFragmentedGrowth of the excess was taken although as much as was asked for was free in
/// total.
bool grew_by_holes(MemoryStats const& memory);

/// Bytes that are reserved beyond what was ever allocated at once; 0 where one is not known.
double excess_bytes(MemoryStats const& memory);

/// What was reserved for holes in these steps is far more than what steps leave behind: the leak,
/// if it is one, is not what fills memory.
bool holes_outgrow_leak(MemoryStats const& memory, size_t steps);

/// The share of its capacity that a device holds at most: reserved, or allocated where no reserve
/// is reported.
std::optional<double> pressure_of(MemoryStats const& memory);

}  // namespace stepscope::analyzer
