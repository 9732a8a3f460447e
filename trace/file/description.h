// The description and the tracks of a file: who recorded what, the devices, the column names, what
// was lost; and what each track is. JSON, because it is small, grows by members and is read by
// people. Tracks have blocks of their own, written as they come up or change, so that a program of
// many threads is not described from the start again with each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trace/base/bytes.h"
#include "trace/file/codec/event_codec.h"
#include "trace/model/trace.h"

namespace stepscope::file {

struct Description {
  model::TraceInfo info;
  std::vector<model::Device> devices;
  model::ImportLog log;
  ColumnNames columns;
};

std::string encode_description(model::TraceInfo const& info, std::span<model::Device const> devices,
                               model::ImportLog const& log);
/// Never fails on wrong or missing members (they keep their defaults). False when the text is not a
/// JSON object.
bool decode_description(base::ByteSpan json, Description& description);

/// What is known of the tracks first, first + 1, …
std::string encode_tracks(uint32_t first, std::span<model::Track const> tracks);
/// Puts the tracks that the text names into `tracks`, in place of what was known of them; at most
/// `max_tracks` in all. Members as above. False when the text is not a JSON object.
bool decode_tracks(base::ByteSpan json, uint32_t max_tracks, std::vector<model::Track>& tracks);

}  // namespace stepscope::file
