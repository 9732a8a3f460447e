// What recording a program takes, whether alone (record.h) or in turn with another one
// (record_interleaved.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "trace/base/expected.h"
#include "tracer/nvml/sampling_service.h"
#include "tracer/record.h"

namespace stepscope::tracer {

/// Values that exclude each other, or mean nothing.
base::Expected<void> check_options(RecordOptions const& options);
/// True when the folder was made here.
base::Expected<bool> prepare_folder(RecordOptions const& options);
/// The tracer, as an absolute path.
base::Expected<std::string> find_library(RecordOptions const& options);
/// This process's environment with the tracer's variables set, and `more`.
std::vector<std::string> traced_environment(
    RecordOptions const& options, std::string const& library,
    std::vector<std::pair<std::string, std::string>> const& more = {});

/// Reads counters of GPUs for what is started with sampling_variables(). Null where the options ask
/// for none, or the system gives no socket: programs run without.
std::unique_ptr<nvml::SamplingService> open_sampling(RecordOptions const& options);
std::vector<std::pair<std::string, std::string>> sampling_variables(
    nvml::SamplingService const* service);

struct StartedCommand {
  pid_t child = -1;
  int exec_error = 0;  ///< errno when it could not be executed: the child ends then
};
/// `in_child` runs before the child becomes the command.
base::Expected<StartedCommand> start_command(std::vector<std::string> const& command,
                                             std::vector<std::string> const& environment,
                                             std::function<void()> const& in_child);
/// The exit code that a shell gives for a status of waitpid().
int exit_code_of(int status);

void print_what_is_left_out(RecordOptions const& options);
/// The exit code, after a sentence.
int explain_exec_error(std::string const& program, int reason);
/// Adds to the finished traces what the traced program was spared: summaries. Without them a trace
/// is only slower to look at.
void complete_traces(RecordOptions const& options);
/// `exit_code`: as exit_code_of() gives it.
void print_what_was_recorded(RecordOptions const& options, std::string const& program,
                             int exit_code);

}  // namespace stepscope::tracer
