// Summaries of what is in a trace, and their place in a file that was recorded without: a recorder
// writes events and nothing else, so that the traced program pays for nothing else.
#pragma once

#include <string>
#include <vector>

#include "trace/base/expected.h"
#include "trace/file/codec/summary_codec.h"
#include "trace/model/trace.h"

namespace stepscope::file {

model::TrackSummary summary_of(model::Trace const& trace, model::TrackId track);
/// Every step of the trace, by track and start.
std::vector<StepSpan> steps_of(model::Trace const& trace);

class TraceFile;
/// The file's id of each text of a trace that was read from it.
std::vector<model::StringId> file_ids(TraceFile const& file, model::Trace const& trace);

/// Appends the summaries to a finished file that has none; one track's events are in memory at a
/// time. Does nothing to a file that has them, or that has no index (a program may still be writing
/// it). Errors: the file cannot be read or written; it stays readable.
base::Expected<void> add_summaries(std::string const& path);

}  // namespace stepscope::file
