// The records that a stream would have had of a process, from its trace.
#pragma once

#include <vector>

#include "trace/model/trace.h"
#include "trace/stream/step_record.h"

namespace stepscope::stream {

std::vector<StepRecord> records_of(model::Trace const& trace);

}  // namespace stepscope::stream
