// The collectives of a process, device by device: all that the clocks of a run are set by.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/base/expected.h"
#include "trace/import/open/trace_source.h"
#include "trace/model/derive/collective_match.h"

namespace stepscope::import {

/// Of each device that has some, by the devices' numbers: its collectives in the order in which
/// they began, with ends in trace time. Of a file nothing else is decoded than these and what
/// shares a block with them, and nothing else is kept. Errors: those of TraceSource::read().
base::Expected<std::vector<std::vector<model::RecordedCollective>>> read_collectives(
    TraceSource const& source);

}  // namespace stepscope::import
