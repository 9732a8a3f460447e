// Which step of the job each recorded step is (DEFINITIONS, "Steps"). A step is an occurrence, not
// its number: programs count from 0 again in each epoch, give all steps one number, or none.
//
// Numbers that only grow in every thread are kept. Otherwise steps are counted through. A *lap*
// ends where a number does not grow; a step is known by its lap and its number in it. So a rank
// whose recording begins at another step, or lacks one, is not misaligned. The laps that a rank is
// behind are those with which most of its steps agree with those of the rank with most steps. Where
// several answers agree alike, the times at which steps begin decide.
#pragma once

#include <vector>

#include "analyzer/metrics/steps/steps.h"

namespace stepscope::analyzer {

/// Fills HostStep::index from HostStep::number, and is_after_gap. `threads[rank][track]` as in
/// HostSteps. `are_clocks_good`: run time tells which steps of two ranks ran at once; else it
/// decides only where nothing else does. O(n log n) over all steps.
void number_steps(std::vector<std::vector<std::vector<HostStep>>>& threads, bool are_clocks_good);

}  // namespace stepscope::analyzer
