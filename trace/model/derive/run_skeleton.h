// A few rows of a trace in the place of all of them: for who looks at every process of a run at
// once and cannot hold them whole.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
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

/// What only the whole tells of a skeleton that was made without reading all events.
struct WholeOfSkeleton {
  ImportLog log;
  std::pair<int64_t, int64_t> time_range = {0, 0};
  uint64_t whole_event_count = 0;
};
WholeOfSkeleton whole_of_skeleton(Trace const& whole);
void complete_skeleton(Trace& skeleton, WholeOfSkeleton const& facts);

}  // namespace stepscope::model
