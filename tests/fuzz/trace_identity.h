// The property that every trace has: written to a file and read back it is the same.
#pragma once

#include "trace/file/trace_file.h"
#include "trace/model/trace.h"

namespace stepscope::fuzz {

/// Aborts (STEPSCOPE_CHECK) when the copy differs in any event, detail, name, track or device.
void check_write_read_identity(model::Trace const& trace);

/// Reads all of the file and a part of it, within bounds, and checks what was read as above.
void check_readable(file::TraceFile const& file);

/// Whether two batches are the same in every column and detail, bit by bit.
bool same_events(model::EventBatch const& a, model::EventBatch const& b);

}  // namespace stepscope::fuzz
