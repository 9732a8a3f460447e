// The steps of a program that uses no device as values to compare and to budget (DEFINITIONS,
// "Comparing runs").
#pragma once

#include "analyzer/compare/run_sample.h"

namespace stepscope::analyzer {

/// Ranges whose time is compared; those of most time.
inline constexpr size_t kMostComparedRanges = 64;

/// Fills the steps, their parts and the ranges, and sets of_hosts. Does nothing if no thread has a
/// step. In an interleaved program the fastest steps count (kFastestInTurn), and steps after a
/// pause do not. Its ranges are left out: they are known for the whole recording only. O(steps ·
/// log steps).
void sample_hosts(model::Run const& run, Analysis const& analysis, RunMeasurements& sample);

}  // namespace stepscope::analyzer
