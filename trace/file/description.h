// The description block: who recorded what, the devices, the tracks, the column names, what was lost. JSON, because it is small
// and people look at it (`stepscope info`).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trace/base/bytes.h"
#include "trace/file/event_codec.h"
#include "trace/model/trace.h"

namespace stepscope::file {

struct Description {
  model::TraceInfo info;
  std::vector<model::Device> devices;
  std::vector<model::Track> tracks;
  model::ImportLog log;
  ColumnNames columns;
};

std::string encode_description(model::TraceInfo const& info, std::span<model::Device const> devices,
                               std::span<model::Track const> tracks, model::ImportLog const& log);
/// Never fails on wrong or missing members (they keep their defaults). False when the text is not a JSON object.
bool decode_description(base::ByteSpan json, Description& description);

}  // namespace stepscope::file
