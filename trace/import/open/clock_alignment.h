// Brings the ranks of a run onto one clock: by when their traces say that they began, and, where
// they were recorded on different hosts, by the ends of their collectives (clock_fit.h).
#pragma once

#include "trace/import/open/trace_source.h"

namespace stepscope::import {

/// Sets the ranks' offsets and drifts and the run's ClockFit; adds notes about ranks whose times
/// cannot be compared with the others'. Reads the device ops of the tracks that have collectives
/// when there are several hosts, or traces that name none.
void align_clocks(RunSources& run);

}  // namespace stepscope::import
