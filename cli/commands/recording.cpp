#include "cli/commands/recording.h"

#include "trace/base/files/run_folder.h"
#include "tracer/core/options.h"

namespace stepscope::cli {

base::Expected<base::OutputFolder> take_for_recording(tracer::RecordOptions const& options) {
  if (tracer::rank_from_environment())
    return base::OutputFolder::take(options.output, base::LockFile::Share::kTogether);
  return base::take_run_folder(options.output, options.force);
}

base::Expected<int> record_alone(tracer::RecordOptions const& options,
                                 std::vector<std::string> const& command) {
  auto const folder = take_for_recording(options);
  if (!folder) return base::fail_with(folder);
  return tracer::record_command(options, command);
}

}  // namespace stepscope::cli
