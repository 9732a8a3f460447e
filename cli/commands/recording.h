// The run folder of a recording: locked as long as the command lives, so that two recordings do not
// mix.
#pragma once

#include "trace/base/expected.h"
#include "trace/base/files/output_folder.h"
#include "tracer/record.h"

namespace stepscope::cli {

/// The ranks of a job share their folder, other recordings have it alone. When the result is
/// destroyed, a folder that was made here and is empty goes. Errors: it holds a run (without
/// --force), another command writes there, no permission.
base::Expected<base::OutputFolder> take_for_recording(tracer::RecordOptions const& options);

/// tracer::record_command() in a folder that is taken.
base::Expected<int> record_alone(tracer::RecordOptions const& options,
                                 std::vector<std::string> const& command);

}  // namespace stepscope::cli
