// The part of a process that a comparison with the others of its run needs. Only one process at a
// time then has to be in memory as a whole.
#pragma once

#include "trace/model/trace.h"

namespace stepscope::analyzer {

/// Whether a thread marks steps. Marks elsewhere count for nothing, as in find_host_steps()
/// (metrics/steps/steps.h).
bool marks_steps(model::Trace const& trace);

/// Collectives and their launches, calls of communication libraries, and marks of steps (ranges
/// with names of steps, where no thread marks steps); ascending. O(events).
std::vector<uint32_t> skeleton_rows(model::Trace const& trace);

}  // namespace stepscope::analyzer
