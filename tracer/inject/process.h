// The injected library's state of the process: the only process-wide state of the project.
// Callbacks reach it through here.
#pragma once

#include "tracer/core/options.h"
#include "tracer/core/session.h"
#include "tracer/nccl/communicators.h"
#include "tracer/nccl/recorder.h"
#include "tracer/nvtx/installed_callbacks.h"
#include "tracer/nvtx/registry.h"
#include "tracer/nvtx/thread_recorder.h"

namespace stepscope::tracer {

// What a thread of the program has of the tracer. The model makes an access one load, and keeps the
// memory where every thread has it from its begin: some bytes of static TLS, which the loader has
// in reserve. Any other model would allocate at a thread's first access, and the C library ends a
// program that has no memory then.
#define STEPSCOPE_THREAD_LOCAL constinit thread_local __attribute__((tls_model("initial-exec")))

/// The calling thread's recorder; null before its first event.
extern STEPSCOPE_THREAD_LOCAL ThreadRecorder* this_recorder;
/// NVTX is being initialized by the calling thread, see release_signals().
extern STEPSCOPE_THREAD_LOCAL bool this_thread_initializes;

/// Makes the calling thread's recorder, and throws nothing. Null when nothing is recorded in this
/// process, there is no memory, or the caller is a signal handler that interrupted this very
/// function. The event is counted as lost then.
ThreadRecorder* attach_this_thread();

/// NVTX has initialized itself: signals that were held back meanwhile (nvtx_preload.cpp) reach this
/// thread now.
void end_initialization() noexcept;
inline void release_signals() noexcept {
  if (this_thread_initializes) [[unlikely]]
    end_initialization();
}

inline ThreadRecorder* recorder() {
  ThreadRecorder* const known = this_recorder;
  return known != nullptr ? known : attach_this_thread();
}

Registry& process_registry();
/// Where NVTX calls us.
InstalledCallbacks& process_callbacks();

/// Starts the capture that the environment asks for, if it asks and this was not done. Null when
/// nothing is recorded in this process.
Session* start_process_session();
/// Null before it was started.
Session* current_session();
/// CUDA is being initialized by this thread, or was before the capture began. More than once does
/// no harm.
void cuda_starts();
/// In a forked child: calls of the parent that were under way are not the child's.
void renew_capture_calls();

// The same for threads that NCCL calls the plugin on.
extern STEPSCOPE_THREAD_LOCAL nccl::Recorder* this_nccl_recorder;
nccl::Recorder* attach_this_thread_to_nccl();

inline nccl::Recorder* nccl_recorder() {
  nccl::Recorder* const known = this_nccl_recorder;
  return known != nullptr ? known : attach_this_thread_to_nccl();
}

nccl::Communicators& process_communicators();
/// NCCL made a communicator: starts recording where it has not begun. What NCCL is asked to report;
/// kOff when nothing is recorded in this process.
NcclDetail start_nccl();

}  // namespace stepscope::tracer
