// Who records: host, command, processor and settings of the calling process, as the trace describes
// itself.
#pragma once

#include <cstdint>
#include <string>

#include "trace/model/trace.h"
#include "tracer/core/clock.h"
#include "tracer/core/options.h"

namespace stepscope::tracer {

/// A thread's name as the system knows it, or empty once it is gone. Opens a file: on the file
/// thread only.
std::string thread_name(int64_t thread_id);

// Without a descriptor, on any thread.
/// Threads of this process, with a main thread that has exited; 0 = not known (no /proc here).
int64_t thread_count();
/// Waits until the process has that many threads, for a second at most; false where it has not.
bool wait_for_thread_count(int64_t count);
/// Example: pthread_exit() while other threads go on. False where that is not known.
bool main_thread_has_exited();

/// What a main thread that has exited gave as the program's exit status; 0 where that is not known.
/// On the file thread only.
int exit_status_of_main_thread();

/// The program and its arguments with blanks between them. Opens a file: on a thread with
/// descriptors of its own only.
std::string command_line();

/// Opens files: on the file thread only.
model::TraceInfo describe_process(CaptureOptions const& options, TickSource ticks,
                                  int64_t origin_epoch_ns);

}  // namespace stepscope::tracer
