// Brings the ranks of a run onto one clock: by the epoch times at which their traces began. Ranks
// of different hosts are then aligned by the ends of their collectives (clock_fit.h).
#pragma once

#include "trace/import/open/trace_source.h"

namespace stepscope::import {

/// Sets the ranks' offsets and drifts and the run's ClockFit. Adds notes about ranks whose times
/// cannot be compared with the others'. Reads the device ops of the tracks that have collectives if
/// there are several hosts, or traces that name no host.
void align_clocks(RunSources& run);

}  // namespace stepscope::import
