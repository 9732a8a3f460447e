// The text of rocprofv3's JSON: {"rocprofiler-sdk-tool": [process, …]}.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "trace/base/expected.h"
#include "trace/import/formats/rocprofv3/process.h"

namespace stepscope::import::rocm {

struct JsonCapture {
  std::deque<Process> processes;  ///< those with rows
  std::optional<std::string> damage;
};

/// `most_events`: more are refused. Reads a damaged text up to the damage.
base::Expected<JsonCapture> read_capture(std::string_view text, uint64_t most_events);

}  // namespace stepscope::import::rocm
