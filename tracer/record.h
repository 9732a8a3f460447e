// `stepscope record -- CMD …`: runs any program with the tracer inside and says what was recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/base/expected.h"
#include "tracer/core/flight/flight_options.h"

namespace stepscope::tracer {

struct RecordOptions {
  std::string output;  ///< the run's folder: made when missing
  // Which part; at most one of steps, every_steps, on_request, ring, range, delay_ns and
  // from_code, see WindowOptions.
  std::string steps;        ///< "A:B", both inclusive; "A:B,C:D": several windows; empty = all
  int64_t every_steps = 0;  ///< a window of for_steps steps at each multiple of it; 0 = none
  int64_t for_steps = 0;    ///< 0 = the default of 5
  bool on_request = false;  ///< the steps that are asked for (requests/asking.h), and no others
  std::optional<FlightOptions> ring;  ///< the last while, when something happens
  bool stream = false;                ///< a record of each step, in addition to the ring or alone
  std::string range;                  ///< "NAME" or "NAME@DOMAIN"; empty = no range decides
  std::optional<int64_t> delay_ns, duration_ns;
  bool from_code = false;
  bool repeats = false;  ///< with from_code: each part that the program opens and closes
  size_t buffer_mb = 0;  ///< memory for events on their way to the file; 0 = the tracer's default
  size_t cuda_buffer_mb = 0;  ///< memory for what CUDA reports; 0 = the tracer's default
  size_t cuda_buffer_kb = 0;  ///< of each of its buffers; 0 = the tracer's default
  int sample_ms =
      -1;  ///< how often the GPUs' counters are read, 0 = not at all; −1 = the tracer's default
  std::string nccl;     ///< "off", "calls" or "network"; empty = the tracer's default
  std::string next;     ///< what to do next, said behind what was recorded; empty = nothing
  bool force = false;   ///< an existing run in the folder is replaced: its trace and report files
                        ///< are removed, nothing else
  std::string library;  ///< the tracer; empty = ../lib/libstepscope-tracer.so beside this program
};

/// Runs `command` (program, arguments) and waits for it. Returns its exit code as a shell does: 128
/// + signal when it was killed, 127 when it cannot be found, 126 when it cannot be executed.
/// SIGTERM and SIGHUP are handed on; Ctrl-C reaches the command itself. Prints to stderr how much
/// was recorded. Errors: bad options, an existing run without force, a folder that cannot be
/// written, no tracer library.
base::Expected<int> record_command(RecordOptions const& options,
                                   std::vector<std::string> const& command);

}  // namespace stepscope::tracer
