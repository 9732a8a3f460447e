// A few rows of a trace in the place of all of them: for who looks at every process of a run at once and cannot hold them whole.
#pragma once

#include <span>

#include "trace/model/trace.h"

namespace stepscope::model {

/// The trace with these rows alone, ascending, with their details and the links among them. Tracks, devices, texts, log and time
/// range are those of the whole, and whole_event_count() says how many events that has.
Trace outline_of(Trace whole, std::span<uint32_t const> rows);

/// Gives an outline that was made without reading all events what only the whole tells: log, time range and whole_event_count().
void complete_outline(Trace& outline, Trace const& whole);

}  // namespace stepscope::model
