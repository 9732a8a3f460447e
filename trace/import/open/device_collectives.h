// The collectives of a process, device by device: all that the clocks of a run are set by.
#pragma once

#include "trace/base/expected.h"
#include "trace/import/open/trace_source.h"

namespace stepscope::import {

/// Decodes only the blocks of a file that hold collectives, and keeps nothing else. Errors: those
/// of TraceSource::read().
base::Expected<CollectivesOfDevices> read_collectives(TraceSource const& source);

}  // namespace stepscope::import
