// A few rows of a trace in the place of all of them: for who looks at every process of a run at
// once and cannot hold them whole.
#pragma once

#include <span>
#include <vector>

#include "trace/model/trace.h"

namespace stepscope::model {

/// The trace with these rows alone, ascending, with their details and the links among them. Tracks,
/// devices, texts, log and time range are those of the whole, and whole_event_count() says how many
/// events that has.
Trace skeleton_of(Trace whole, std::span<uint32_t const> rows);

/// What a trace says beside its events.
struct TraceHead {
  TraceInfo info;
  ImportLog log;
  std::vector<Track> tracks;
  std::vector<Device> devices;
};
TraceHead head_of(Trace const& trace);
/// In the place of the trace's own; of as many tracks.
void replace_head(Trace& trace, TraceHead const& head);

/// Gives a skeleton that was made without reading all events what only the whole tells: log, time
/// range and whole_event_count().
void complete_skeleton(Trace& skeleton, Trace const& whole);

}  // namespace stepscope::model
