// JSON text as plain data. For files of one document; what is cut off or broken ends it, what came
// before is kept.
#pragma once

#include <string_view>

#include "trace/base/expected.h"
#include "trace/import/formats/flight_recorder/pickle.h"

namespace stepscope::import {

/// `text` outlives the data. Errors complete "FILE: …": it holds too much.
base::Expected<ReadData> read_json_data(std::string_view text, PlainData& data);

}  // namespace stepscope::import
