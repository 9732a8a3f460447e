// A trace as bytes for another process of the same program (trace/base/pack.h): every column as
// memory has it, and what files have no place for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "trace/model/derive/run_skeleton.h"
#include "trace/model/trace.h"

namespace stepscope::model {

template <class Archive>
void pack_fields(Archive& at, TraceInfo& info) {
  auto& [tool, host, command, process_id, rank, world_size, origin, whole_steps, facts] = info;
  at(tool, host, command, process_id, rank, world_size, origin, whole_steps, facts);
}

template <class Archive>
void pack_fields(Archive& at, ImportLog& log) {
  auto& [dropped, negative, unmatched_launches, doubled, unmatched_ops, latencies, overlapping,
         impossible, unknown, lost_blocks, truncated, notes] = log;
  at(dropped, negative, unmatched_launches, doubled, unmatched_ops, latencies, overlapping,
     impossible, unknown, lost_blocks, truncated, notes);
}

template <class Archive>
void pack_fields(Archive& at, Track& track) {
  auto& [kind, name, id, device, stream_kind, dropped] = track;
  at(kind, name, id, device, stream_kind, dropped);
}

template <class Archive>
void pack_fields(Archive& at, Device& device) {
  auto& [id, name, capacity_bytes, threads, peak_flops] = device;
  at(id, name, capacity_bytes, threads, peak_flops);
}

template <class Archive>
void pack_fields(Archive& at, TraceHead& head) {
  auto& [info, log, tracks, devices] = head;
  at(info, log, tracks, devices);
}

template <class Archive>
void pack_fields(Archive& at, WholeOfSkeleton& facts) {
  auto& [log, time_range, whole_event_count] = facts;
  at(log, time_range, whole_event_count);
}

std::string packed_trace(Trace const& trace);
/// Nothing where the bytes are no packed trace.
std::optional<Trace> unpacked_trace(std::string_view bytes);

}  // namespace stepscope::model
