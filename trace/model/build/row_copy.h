// Making one trace from another: what slice() and anonymize() have in common.
#pragma once

#include "trace/model/event_batch.h"
#include "trace/model/intervals.h"
#include "trace/model/trace.h"

namespace stepscope::model {

/// Appends a row of a trace to a batch, with its details, under the name `name` (of the strings
/// that the batch is for).
void append_row(Trace const& trace, uint32_t row, StringId name, EventBatch& batch);

/// The log of a trace without what TraceBuilder::finish() will count again in what is copied from
/// it.
ImportLog log_before_building(Trace const& trace);

/// The events of which any part lies in the window (trace time), whole: what reading this window of
/// a file gives (file::Selection::window). Tracks and texts keep their ids.
Trace window_of(Trace const& trace, Interval window);

}  // namespace stepscope::model
