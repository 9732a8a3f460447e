// The part of a process that model::slice() keeps of its whole trace. Only the surroundings of the
// part are read, so runs larger than memory can be sliced.
#pragma once

#include <vector>

#include "trace/import/open/trace_source.h"
#include "trace/model/derive/slice.h"

namespace stepscope::import {

/// slice(trace, window_of_steps(trace, steps)) of the whole trace. `steps` must not be empty. Reads
/// as much time around the steps as they take, and doubles it until the rest of the file cannot
/// matter. Streams run in launch order: where an op of an earlier launch is seen, so are all later
/// launches. Errors: the part does not fit into memory.
base::Expected<model::Trace> slice_of_steps(TraceSource const& source,
                                            std::vector<model::ThreadSteps> const& steps,
                                            model::WholeSteps const& whole);

/// slice(trace, {time, time}) of the whole trace, read in the same way.
base::Expected<model::Trace> slice_of_time(TraceSource const& source, model::Interval time,
                                           model::WholeSteps const& whole);

}  // namespace stepscope::import
