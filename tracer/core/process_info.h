// Who records: host, command, processor and settings of the calling process, as the trace describes itself.
#pragma once

#include <cstdint>

#include "trace/model/trace.h"
#include "tracer/core/clock.h"
#include "tracer/core/options.h"

namespace stepscope::tracer {

model::TraceInfo describe_process(CaptureOptions const& options, TickSource ticks, int64_t origin_epoch_ns);

}  // namespace stepscope::tracer
