// The collectives of a process, device by device: all that the clocks of a run are set by.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/base/expected.h"
#include "trace/import/open/trace_source.h"
#include "trace/model/derive/collective_match.h"

namespace stepscope::import {

/// The collectives of each device that has some, by the devices' numbers. They come in the order in
/// which they began, with ends in trace time. Decodes only the blocks of a file that hold
/// collectives, and keeps nothing else. Errors: those of TraceSource::read().
base::Expected<std::vector<std::vector<model::RecordedCollective>>> read_collectives(
    TraceSource const& source);

}  // namespace stepscope::import
