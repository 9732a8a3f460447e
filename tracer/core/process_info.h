// Who records: host, command, processor and settings of the calling process, as the trace describes itself.
#pragma once

#include <cstdint>
#include <string>

#include "trace/model/trace.h"
#include "tracer/core/clock.h"
#include "tracer/core/options.h"

namespace stepscope::tracer {

/// A thread's name as the system knows it, or empty once it is gone.
std::string thread_name(int64_t thread_id);

model::TraceInfo describe_process(CaptureOptions const& options, TickSource ticks, int64_t origin_epoch_ns);

}  // namespace stepscope::tracer
