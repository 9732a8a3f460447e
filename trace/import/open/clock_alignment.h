// Brings the ranks of a run onto one clock: by the epoch times at which their traces began. Ranks
// of different hosts are then aligned by the ends of their collectives (clock_fit.h).
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "trace/import/open/trace_source.h"

namespace stepscope::import {

/// Calls work(i) for each of the ranks, several at once; empty: as many at once as there are cores.
using ForEachRank = std::function<void(std::vector<RankSource> const& ranks,
                                       std::function<void(size_t)> const& work)>;

/// Sets the ranks' offsets and drifts and the run's ClockFit. Adds notes about ranks whose times
/// cannot be compared with the others'. Reads the device ops of the tracks that have collectives if
/// there are several hosts, or traces that name no host.
void align_clocks(RunSources& run, ForEachRank const& for_each_rank = {});

}  // namespace stepscope::import
