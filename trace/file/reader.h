// Reads a whole .stepscope file into a Trace (trace_file.h reads parts). The bytes are untrusted:
// every length is checked, damaged blocks are left out and counted (ImportLog::lost_blocks), a file
// without an index (killed process) is scanned block by block.
#pragma once

#include <string>

#include "trace/base/bytes.h"
#include "trace/base/expected.h"
#include "trace/model/trace.h"

namespace stepscope::file {

/// Whether the bytes begin as a .stepscope file does.
bool is_stepscope_file(base::ByteSpan bytes);

/// Errors: not a .stepscope file, or one of a newer version. `name` is used in messages.
base::Expected<model::Trace> read_trace(base::ByteSpan bytes, std::string const& name);
/// Errors: as above, and the file cannot be read.
base::Expected<model::Trace> read_trace_file(std::string const& path);

}  // namespace stepscope::file
