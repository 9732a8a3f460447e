// The trace file of a process in a folder of its run: made anew, never one that is there.
#pragma once

#include <string>

#include "trace/base/expected.h"
#include "trace/file/writer.h"
#include "tracer/core/options.h"

namespace stepscope::tracer {

/// The time of day, ns since 1970.
int64_t epoch_ns();

struct CreatedFile {
  file::TraceWriter writer;
  std::string path;
};
/// On the file thread only. Makes the last folder of `folder`, too. Errors: it or the file cannot
/// be made.
base::Expected<CreatedFile> create_trace_file(CaptureOptions const& options,
                                              std::string const& folder);

}  // namespace stepscope::tracer
