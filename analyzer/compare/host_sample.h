// The steps of a program that uses no device as values to compare and to budget (DEFINITIONS,
// "Comparing runs").
#pragma once

#include "analyzer/compare/run_sample.h"

namespace stepscope::analyzer {

/// Ranges whose time is compared; those of most time.
inline constexpr size_t kMostComparedRanges = 64;

/// Fills the steps, their parts and the ranges, and sets of_hosts. Nothing where no thread has a
/// step. Where the program took turns with another one the fastest steps count (kFastestInTurn),
/// those that were held do not, and ranges, which are known of the whole recording alone, are left
/// out. O(steps · log steps).
void sample_hosts(model::Run const& run, Analysis const& analysis, RunMeasurements& sample);

}  // namespace stepscope::analyzer
